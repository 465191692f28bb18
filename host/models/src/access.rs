//! A slot's access to the models: its allow-list, concurrent calls and tokens per second.

mod token_bucket;

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_config::slots::{SlotId, SlotSettings};
use bulkhead_inference::engine::{self, Caller, CallerKind, Embedded, Input};
use bulkhead_telemetry::quoted;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::token_bucket::TokenBucket;
use super::{
    CallTerms, EmbedParameters, Inference, InferenceError, NamedHead, NamedOnnx, ServedModel,
    metrics::{InferenceRejection, InferenceUsage, SlotInferenceMetrics},
};

/// A graph that a guest can name.
#[derive(Clone, Debug)]
pub enum NamedGraph {
    /// Texts in, vectors out.
    Model(Arc<ServedModel>),
    /// Vectors in, probabilities out.
    Head(Arc<NamedHead>),
    /// Inputs and outputs of an ONNX model's own.
    Onnx(Arc<NamedOnnx>),
}

impl NamedGraph {
    /// Returns the canonical id of a model, or the name of any other graph.
    pub fn id(&self) -> &str {
        match self {
            Self::Model(model) => &model.id,
            Self::Head(head) => &head.name,
            Self::Onnx(graph) => &graph.name,
        }
    }
}

/// A slot's access to the models, with its allow-list and quotas.
#[derive(Debug)]
pub struct SlotModelAccess {
    slot: SlotId,
    /// The path of its list of models in the configuration.
    key: Arc<str>,
    inference: Option<Arc<Inference>>,
    /// Names of models and heads; `None`: the default model and heads over it.
    allowed: Option<Vec<String>>,
    calls: Arc<Semaphore>,
    tokens: TokenBucket,
    /// The slot in the engine's queue.
    caller: Caller,
    /// The longest wait for vectors: the deadline of a call.
    deadline: Duration,
    metrics: SlotInferenceMetrics,
}

/// Why a guest may not use a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelAccessError {
    /// It is not on the slot's list.
    #[error("slot {slot} may not use `{name}`; allow it with {key} = [{line}]")]
    NotAllowed {
        /// The slot.
        slot: &'static str,
        /// The path of its list in the configuration.
        key: Arc<str>,
        /// The model as the guest named it, cut.
        name: String,
        /// The list that would allow it.
        line: String,
    },
    /// It is allowed but not loaded.
    #[error("`{name}` is not loaded: {remedy}")]
    NotLoaded {
        /// The model as the guest named it, cut.
        name: String,
        /// What an operator can do about it.
        remedy: String,
    },
}

impl SlotModelAccess {
    /// Creates the access of a slot from its `settings`.
    pub fn new(
        settings: &SlotSettings,
        inference: Option<Arc<Inference>>,
        metrics: SlotInferenceMetrics,
    ) -> Self {
        let access = Self {
            slot: settings.id(),
            key: settings.key("models").into(),
            inference,
            allowed: settings.models.clone(),
            calls: Arc::new(Semaphore::new(settings.limits.inference_calls)),
            tokens: TokenBucket::new(settings.limits.inference_tokens_per_second),
            caller: caller_of(settings.id()),
            deadline: settings.limits.deadline,
            metrics,
        };
        let served = access.inference.iter().flat_map(|inference| inference.models());
        for model in served.filter(|model| access.find(&model.id).is_ok()) {
            access.metrics.init_model(&model.id);
        }
        access
    }

    /// Returns the graph `name`: the name of a head or an ONNX model, or the id or alias of a model, optionally with `@`
    /// and the first characters of its weights' SHA-256.
    ///
    /// # Errors
    /// When the slot may not use it, or it is not loaded.
    pub fn graph(&self, name: &str) -> Result<NamedGraph, ModelAccessError> {
        self.find(name).inspect_err(|_| self.metrics.record_rejection(InferenceRejection::Model))
    }

    /// Returns the model `name`.
    ///
    /// # Errors
    /// When the slot may not use it, it is not loaded, or it is another kind of graph.
    pub fn model(&self, name: &str) -> Result<Arc<ServedModel>, ModelAccessError> {
        match self.graph(name)? {
            NamedGraph::Model(model) => Ok(model),
            other @ (NamedGraph::Head(_) | NamedGraph::Onnx(_)) => {
                let remedy = "it embeds no texts, but is a graph of wasi:nn".to_owned();
                Err(ModelAccessError::NotLoaded { name: other.id().to_owned(), remedy })
            }
        }
    }

    /// Creates the series of a model that the slot's service runs for it, at zero.
    pub fn init_metrics(&self, model: &ServedModel) {
        self.metrics.init_model(&model.id);
    }

    /// Returns the maximum number of rows of a call.
    pub fn max_batch_size(&self) -> usize {
        self.inference.as_ref().map_or(0, |inference| inference.max_batch_size())
    }

    fn find(&self, name: &str) -> Result<NamedGraph, ModelAccessError> {
        let Some(inference) = &self.inference else {
            let key = &self.key;
            let remedy = format!("no model is loaded; turn services.embedding on or name it in {key}");
            return Err(ModelAccessError::NotLoaded { name: quoted(name), remedy });
        };
        let (base_name, revision) = split_revision(name);
        let found = loaded_graph(inference, base_name);
        let pinned = self.allowed_revision(inference, base_name, found.as_ref());
        let pinned = pinned.ok_or_else(|| self.not_allowed(inference, name))?;
        let not_loaded = |remedy: String| ModelAccessError::NotLoaded { name: quoted(name), remedy };
        let Some(graph) = found else {
            let missing = inference.missing().iter().find(|missing| missing.id == base_name);
            let remedy = missing.map_or("name it in embedding.models", |missing| &missing.remedy);
            return Err(not_loaded(remedy.to_owned()));
        };
        for revision in [revision, pinned].into_iter().flatten() {
            match &graph {
                NamedGraph::Model(model) if model.is_revision(revision) => {}
                NamedGraph::Model(model) => {
                    let loaded = &model.model.description().weights_sha256;
                    let loaded: String = loaded.chars().take(12).collect();
                    return Err(not_loaded(format!("its weights are {}@{loaded}", model.id)));
                }
                NamedGraph::Head(_) | NamedGraph::Onnx(_) => {
                    return Err(not_loaded("only models have revisions; leave the @ out".to_owned()));
                }
            }
        }
        Ok(graph)
    }

    /// Returns `None` if the graph `name` is not allowed, else the revision that the allow-list pins it to, if any.
    fn allowed_revision<'a>(
        &'a self,
        inference: &'a Inference,
        name: &str,
        found: Option<&NamedGraph>,
    ) -> Option<Option<&'a str>> {
        if let (None, Some(NamedGraph::Head(head))) = (&self.allowed, found) {
            let record = head.head.record();
            let id = inference.of_head(record).map_or(&record.model_id, |model| &model.id);
            return (id == inference.default_id()).then_some(None);
        }
        let id = found.map_or(name, NamedGraph::id);
        let matches_id = |allowed: &str| match loaded_graph(inference, allowed) {
            Some(graph) => graph.id() == id,
            None => allowed == id,
        };
        let entry = self.allow_list(inference).into_iter().find(|(allowed, _)| matches_id(allowed));
        entry.map(|(_, pinned)| pinned)
    }

    /// Returns the allowed names, each with the revision that it is pinned to.
    fn allow_list<'a>(&'a self, inference: &'a Inference) -> Vec<(&'a str, Option<&'a str>)> {
        match &self.allowed {
            Some(names) => names.iter().map(|name| split_revision(name)).collect(),
            None => vec![(inference.default_id(), None)],
        }
    }

    fn not_allowed(&self, inference: &Inference, name: &str) -> ModelAccessError {
        let names = self.allow_list(inference).into_iter().map(|(name, revision)| match revision {
            Some(revision) => format!("\"{name}@{revision}\""),
            None => format!("\"{name}\""),
        });
        let name = quoted(name);
        let line = names.chain([format!("\"{name}\"")]).collect::<Vec<_>>().join(", ");
        ModelAccessError::NotAllowed { slot: self.slot.as_str(), key: Arc::clone(&self.key), name, line }
    }

    /// Embeds texts for a guest. Waits for a permit of the slot; dropping the future releases everything.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn embed(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        parameters: &EmbedParameters,
    ) -> Result<Embedded, InferenceError> {
        self.run_inputs(model, texts.into_iter().map(Input::Text).collect(), parameters).await
    }

    /// Embeds token ids that the guest made.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub(crate) async fn embed_ids(
        &self,
        model: &ServedModel,
        ids: Vec<Vec<u32>>,
    ) -> Result<Embedded, InferenceError> {
        let inference = self.inference()?;
        let (parameters, tokens) = (EmbedParameters::default(), ids.iter().map(Vec::len).sum());
        let work = async |terms| inference.embed_ids(model, ids, &parameters, terms).await;
        self.run_recorded(model, tokens, work).await
    }

    /// Runs a model on texts and pairs of texts for a guest.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub(crate) async fn run_inputs(
        &self,
        model: &ServedModel,
        inputs: Vec<Input>,
        parameters: &EmbedParameters,
    ) -> Result<Embedded, InferenceError> {
        let inference = self.inference()?;
        let tokens = engine::estimated_tokens(&model.model, &inputs);
        let work = async |terms| inference.run_inputs(model, inputs, parameters, terms).await;
        self.run_recorded(model, tokens, work).await
    }

    /// Runs `work` of about so many tokens under the slot's quotas and records its usage or rejection.
    async fn run_recorded(
        &self,
        model: &ServedModel,
        tokens: usize,
        work: impl AsyncFnOnce(CallTerms) -> Result<Embedded, InferenceError>,
    ) -> Result<Embedded, InferenceError> {
        let embedded = self.within_quota(tokens, work).await;
        match &embedded {
            Ok(embedded) => self.metrics.record_usage(&model.id, &InferenceUsage::of(embedded)),
            Err(error) => self.metrics.record_rejection(match error {
                InferenceError::Quota { .. } => InferenceRejection::TokensPerSecond,
                InferenceError::Invalid(_)
                | InferenceError::TooLarge { .. }
                | InferenceError::TooManyTerms { .. } => InferenceRejection::Invalid,
                InferenceError::Overloaded { .. }
                | InferenceError::Deadline { .. }
                | InferenceError::Stopped
                | InferenceError::Internal => InferenceRejection::Unavailable,
            }),
        }
        embedded
    }

    /// Runs `work` of about so many tokens under the slot's quotas. They stay used if the guest leaves.
    async fn within_quota(
        &self,
        tokens: usize,
        work: impl AsyncFnOnce(CallTerms) -> Result<Embedded, InferenceError>,
    ) -> Result<Embedded, InferenceError> {
        let deadline = Instant::now() + self.deadline;
        let _permit = self.permit(deadline).await?;
        self.tokens.reserve(tokens).map_err(|retry_after| InferenceError::Quota { retry_after })?;
        let embedded = work(CallTerms::until(self.caller, deadline)).await;
        self.tokens.settle(tokens, embedded.as_ref().map_or(0, |embedded| embedded.tokens));
        embedded
    }

    fn inference(&self) -> Result<&Inference, InferenceError> {
        self.inference.as_deref().ok_or(InferenceError::Stopped)
    }

    /// Waits for one of the slot's permits.
    async fn permit(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, InferenceError> {
        let permit = Arc::clone(&self.calls).acquire_owned();
        let permit = tokio::time::timeout_at(deadline.into(), permit).await;
        permit.map_err(|_| InferenceError::Deadline { retry_after: 1 })?.map_err(|_| InferenceError::Stopped)
    }

    /// Runs `work`, at once where it `is_quick`, else on a blocking thread. It holds a permit of the slot until it ends, even
    /// when the guest has left.
    ///
    /// # Errors
    /// When no permit is free in time, or the work panics.
    pub async fn compute<T: Send + 'static>(
        &self,
        is_quick: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, InferenceError> {
        run(self.permit(Instant::now() + self.deadline).await?, is_quick, work).await
    }
}

/// Runs `work`, at once where it `is_quick`, else on a blocking thread, and then releases `permit`.
async fn run<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    is_quick: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, InferenceError> {
    let work = move || {
        let _permit = permit;
        work()
    };
    match is_quick {
        true => panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| InferenceError::Internal),
        false => tokio::task::spawn_blocking(work).await.map_err(|_| InferenceError::Internal),
    }
}

/// Returns a slot in the engine's queue. All slots have one weight.
fn caller_of(slot: SlotId) -> Caller {
    let mut hasher = DefaultHasher::new();
    slot.as_str().hash(&mut hasher);
    Caller { kind: CallerKind::Slot, id: hasher.finish(), weight: 1 }
}

/// Returns the loaded graph of a name.
fn loaded_graph(inference: &Inference, name: &str) -> Option<NamedGraph> {
    let model = inference.shared(name).map(NamedGraph::Model);
    let head = || inference.head(name).cloned().map(NamedGraph::Head);
    model.or_else(head).or_else(|| inference.onnx(name).cloned().map(NamedGraph::Onnx))
}

/// Splits the revision off a name.
fn split_revision(name: &str) -> (&str, Option<&str>) {
    name.split_once('@').map_or((name, None), |(name, revision)| (name, Some(revision)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::thread;

    use super::*;

    #[tokio::test]
    async fn only_long_work_changes_threads() {
        let permits = Arc::new(Semaphore::new(1));
        for is_quick in [true, false] {
            let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
            let worker = run(permit, is_quick, || thread::current().id()).await.unwrap();
            assert_eq!(worker == thread::current().id(), is_quick);
            assert_eq!(permits.available_permits(), 1);
        }
    }

    #[tokio::test]
    async fn panic_is_an_error_without_permit() {
        let permits = Arc::new(Semaphore::new(1));
        for is_quick in [true, false] {
            let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
            let failed: Result<(), _> = run(permit, is_quick, || panic!("a fault")).await;
            assert_eq!(failed, Err(InferenceError::Internal));
            assert_eq!(permits.available_permits(), 1);
        }
    }
}
