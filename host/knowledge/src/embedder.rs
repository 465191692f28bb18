//! The interface to an embedding model.

pub(crate) mod provenance;

use futures_util::future::BoxFuture;

use provenance::Provenance;

/// A loaded model with one of its prompts: for passages when importing, for questions when evaluating.
pub trait Embedder: Send + Sync {
    /// Returns which model it is.
    fn provenance(&self) -> Provenance;

    /// Embeds the texts, in their order; a text that is too long may be cut. The error's text is for the operator.
    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, String>>;
}

/// The embedding of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embedding {
    /// The text's vector.
    pub vector: Vec<f32>,
    /// Vectors of its words; `None` if the model makes none.
    pub tokens: Option<TokenVectors>,
}

/// Vectors of a text's words, or parts of words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenVectors {
    /// `[tokens, dims]`, each of length 1.
    pub vectors: Vec<f32>,
    /// Length of a vector.
    pub dims: usize,
    /// Importance of each token of a question; greater than 0.
    pub importance: Vec<f32>,
}

impl From<Vec<f32>> for Embedding {
    fn from(vector: Vec<f32>) -> Self {
        Self { vector, tokens: None }
    }
}
