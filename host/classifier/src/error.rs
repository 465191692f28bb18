//! Errors of training and evaluation.

/// Why examples or settings are unusable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A classifier needs at least two categories.
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
    /// The beginning of a text, and why it cannot be embedded.
    #[error("the text that begins {0:?} cannot be embedded: {1}")]
    Text(String, String),
    /// Numbers that a head cannot have.
    #[error("the classifier cannot become a head: {0}")]
    Head(#[from] bulkhead_inference::head::InvalidHead),
    /// A line of labelled tickets, from 1, and what is wrong with it.
    #[error("line {0} is not a labelled ticket: {1}")]
    Line(usize, String),
    /// Predictions and labels that do not fit each other.
    #[error("{0}")]
    Predictions(String),
}
