//! What makes vectors of texts.

use futures_util::future::BoxFuture;

use crate::provenance::Provenance;

/// A loaded model with one of its prompts: for passages when importing, for questions when evaluating.
pub trait Embedder: Send + Sync {
    /// Which model it is.
    fn provenance(&self) -> Provenance;

    /// One vector a text, in their order; a text that is too long may be cut. The error's text is for the
    /// operator.
    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Vec<f32>>, String>>;
}
