//! The cross-encoder that orders the passages of a search.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::engine::Caller;
use bulkhead_knowledge::Reranker;
use bulkhead_models::{
    CallTerms, Inference, InferenceError, RankOptions, RankedText, ServedModel, SlotModelAccess,
};
use bulkhead_text::words::usual;
use futures_util::future::BoxFuture;

/// Timeout of a ranking outside a call.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Why the configured model cannot rank passages.
#[derive(Debug, thiserror::Error)]
pub enum RerankerError {
    /// It is configured, but not loaded.
    #[error("the model `{name}` of tickets.knowledge.reranker is not loaded: {remedy}")]
    NotLoaded {
        /// The model.
        name: String,
        /// How to get it.
        remedy: String,
    },
    /// No model has this name.
    #[error("tickets.knowledge.reranker: there is no model `{0}`; name it in embedding.models")]
    Unknown(String),
    /// It ranks no texts.
    #[error("tickets.knowledge.reranker: {0}; name a cross-encoder with one label")]
    NoReranker(InferenceError),
}

/// Returns the model `name`, which ranks texts.
///
/// # Errors
/// When it is not loaded, or another kind of model.
pub fn reranking_model(inference: Option<&Inference>, name: &str) -> Result<Arc<ServedModel>, RerankerError> {
    let not_loaded =
        |remedy: &str| RerankerError::NotLoaded { name: name.to_owned(), remedy: remedy.to_owned() };
    let inference = inference.ok_or_else(|| not_loaded("turn services.embedding on"))?;
    let Some(model) = inference.shared(name) else {
        let missing = inference.missing().iter().find(|missing| missing.id == name);
        let unknown = || RerankerError::Unknown(name.to_owned());
        return Err(missing.map_or_else(unknown, |missing| not_loaded(&missing.remedy)));
    };
    model.check_ranks().map_err(RerankerError::NoReranker)?;
    Ok(model)
}

/// The model within the quotas of a slot.
pub(super) struct SlotReranker<'a> {
    pub(super) access: &'a SlotModelAccess,
    pub(super) model: &'a ServedModel,
}

impl Reranker for SlotReranker<'_> {
    fn rank<'a>(
        &'a self,
        question: &'a str,
        mut texts: Vec<String>,
    ) -> BoxFuture<'a, Result<Vec<usize>, String>> {
        Box::pin(async move {
            texts.truncate(self.access.max_batch_size());
            let question = usual(question).into_owned();
            indices(self.access.rank(self.model, question, texts, RankOptions::default()).await)
        })
    }
}

/// The model outside a slot, for the command line.
#[derive(Debug)]
pub struct HostReranker {
    /// The loaded models.
    pub inference: Arc<Inference>,
    /// The model of these that ranks.
    pub model: Arc<ServedModel>,
}

impl Reranker for HostReranker {
    fn rank<'a>(
        &'a self,
        question: &'a str,
        mut texts: Vec<String>,
    ) -> BoxFuture<'a, Result<Vec<usize>, String>> {
        Box::pin(async move {
            texts.truncate(self.inference.max_batch_size());
            let terms = CallTerms::until(Caller::HOST, Instant::now() + TIMEOUT);
            let (question, options) = (usual(question).into_owned(), RankOptions::default());
            indices(self.inference.rank(&self.model, question, texts, options, terms).await)
        })
    }
}

/// Returns the order of ranked texts.
fn indices(ranked: Result<Vec<RankedText>, InferenceError>) -> Result<Vec<usize>, String> {
    let ranked = ranked.map_err(|error| error.to_string())?;
    Ok(ranked.into_iter().map(|text| text.index).collect())
}
