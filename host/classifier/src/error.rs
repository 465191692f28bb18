//! What training and evaluation fail with.

/// Examples or settings that nothing can be made of.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A classifier needs something to tell apart.
    #[error("{0} categories have examples, at least two must: label more examples")]
    Categories(usize),
    /// Vectors of another length.
    #[error("example {example} has {found} numbers, the others have {expected}: embed all with one model")]
    Dims {
        /// Index of the example, from 0.
        example: usize,
        /// Length of its vector.
        found: usize,
        /// Length of the others'.
        expected: usize,
    },
    /// NaN or infinite.
    #[error("example {0} has a vector that is not finite")]
    NotFinite(usize),
    /// Neither vectors nor features.
    #[error("the examples have neither vectors nor features: choose one of the two")]
    Empty,
    /// Prototypes are embeddings.
    #[error("the examples have no embeddings: name an embedding model, or train on features by separation")]
    Embeddings,
    /// Predictions and labels that do not fit each other.
    #[error("{0}")]
    Predictions(String),
}
