//! What one slot's guests may use of the models: an allow-list, calls at once, and tokens a second.

mod tokens;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_config::slots::{Slot, SlotId};
use bulkhead_inference::engine::Embedded;
use bulkhead_telemetry::quoted;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::tokens::TokenBudget;
use super::{
    Choice, Inference, NamedHead, NamedOnnx, Refusal, ServedModel,
    metrics::{RefusedInference, SlotInference, Spent},
};

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Graph {
    /// Texts in, vectors out.
    Model(Arc<ServedModel>),
    /// Vectors in, probabilities out.
    Head(Arc<NamedHead>),
    /// Whatever an ONNX model takes and gives.
    Onnx(Arc<NamedOnnx>),
}

impl Graph {
    /// A model's canonical id, or a head's name.
    pub fn id(&self) -> &str {
        match self {
            Self::Model(model) => &model.id,
            Self::Head(head) => &head.name,
            Self::Onnx(graph) => &graph.name,
        }
    }
}

/// A slot's way to the models.
#[derive(Debug)]
pub struct Gate {
    slot: SlotId,
    inference: Option<Arc<Inference>>,
    /// Names of models and heads; none: the default model and heads over it.
    allowed: Option<Vec<String>>,
    calls: Arc<Semaphore>,
    tokens: TokenBudget,
    /// No call lasts longer, so nobody waits longer for its vectors.
    deadline: Duration,
    metrics: SlotInference,
}

/// Why a guest may not use a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is not on the slot's list.
    #[error("slot {slot} may not use `{name}`; allow it with slots.{slot}.models = [{line}]")]
    NotAllowed {
        /// The slot.
        slot: &'static str,
        /// The model as the guest named it, cut.
        name: String,
        /// The list that would allow it.
        line: String,
    },
    /// It is allowed and not there.
    #[error("`{name}` is not loaded: {remedy}")]
    NotLoaded {
        /// The model as the guest named it, cut.
        name: String,
        /// What an operator can do about it.
        remedy: String,
    },
}

impl Gate {
    /// The gate of a slot with the allow-list and quotas of its `settings`.
    pub fn new(settings: &Slot, inference: Option<Arc<Inference>>, metrics: SlotInference) -> Self {
        let gate = Self {
            slot: settings.id(),
            inference,
            allowed: settings.models.clone(),
            calls: Arc::new(Semaphore::new(settings.limits.inference_calls)),
            tokens: TokenBudget::new(settings.limits.inference_tokens_per_second),
            deadline: settings.limits.deadline,
            metrics,
        };
        let served = gate.inference.iter().flat_map(|inference| inference.models());
        for model in served.filter(|model| gate.find(&model.id).is_ok()) {
            gate.metrics.know_model(&model.id);
        }
        gate
    }

    /// The graph that a guest calls `name`: a head's or an ONNX model's name; a model's id or alias, or either with
    /// `@` and the first characters of its weights' SHA-256.
    ///
    /// # Errors
    /// When the slot may not use it, or it is not there.
    pub fn graph(&self, name: &str) -> Result<Graph, Denied> {
        self.find(name).inspect_err(|_| self.metrics.refused(RefusedInference::Model))
    }

    /// The model that a guest calls so.
    ///
    /// # Errors
    /// When the slot may not use it, it is not there, or it is another kind of graph.
    pub fn model(&self, name: &str) -> Result<Arc<ServedModel>, Denied> {
        match self.graph(name)? {
            Graph::Model(model) => Ok(model),
            other @ (Graph::Head(_) | Graph::Onnx(_)) => {
                let remedy = "it embeds no texts, but is a graph of wasi:nn".to_owned();
                Err(Denied::NotLoaded { name: other.id().to_owned(), remedy })
            }
        }
    }

    /// Most rows of one call.
    pub fn max_batch_size(&self) -> usize {
        self.inference.as_ref().map_or(0, |inference| inference.max_batch_size())
    }

    fn find(&self, name: &str) -> Result<Graph, Denied> {
        let Some(inference) = &self.inference else {
            let slot = self.slot.as_str();
            let remedy = format!("no model is; turn services.embedding on or name it in slots.{slot}.models");
            return Err(Denied::NotLoaded { name: quoted(name), remedy });
        };
        let (wanted, revision) = split(name);
        let found = named(inference, wanted);
        let pinned = self.rule(inference, wanted, found.as_ref());
        let pinned = pinned.ok_or_else(|| self.not_allowed(inference, name))?;
        let not_loaded = |remedy: String| Denied::NotLoaded { name: quoted(name), remedy };
        let Some(graph) = found else {
            let missing = inference.missing().iter().find(|missing| missing.id == wanted);
            let remedy = missing.map_or("name it in embedding.models", |missing| &missing.remedy);
            return Err(not_loaded(remedy.to_owned()));
        };
        for revision in [revision, pinned].into_iter().flatten() {
            match &graph {
                Graph::Model(model) if model.is_revision(revision) => {}
                Graph::Model(model) => {
                    let loaded = &model.model.description().weights_sha256;
                    let loaded: String = loaded.chars().take(12).collect();
                    return Err(not_loaded(format!("its weights are {}@{loaded}", model.id)));
                }
                Graph::Head(_) | Graph::Onnx(_) => {
                    return Err(not_loaded("only models have revisions; leave the @ out".to_owned()));
                }
            }
        }
        Ok(graph)
    }

    /// Whether a graph, which a guest calls `wanted`, is allowed; then the revision that it is pinned to, if any.
    fn rule<'a>(
        &'a self,
        inference: &'a Inference,
        wanted: &str,
        found: Option<&Graph>,
    ) -> Option<Option<&'a str>> {
        if let (None, Some(Graph::Head(head))) = (&self.allowed, found) {
            return (head.head.record().model_id == inference.default_id()).then_some(None);
        }
        let id = found.map_or(wanted, Graph::id);
        let is_it = |allowed: &str| match named(inference, allowed) {
            Some(graph) => graph.id() == id,
            None => allowed == id,
        };
        let rule = self.allowed(inference).into_iter().find(|(allowed, _)| is_it(allowed));
        rule.map(|(_, pinned)| pinned)
    }

    /// Allowed names, each with the revision that it is pinned to.
    fn allowed<'a>(&'a self, inference: &'a Inference) -> Vec<(&'a str, Option<&'a str>)> {
        match &self.allowed {
            Some(names) => names.iter().map(|name| split(name)).collect(),
            None => vec![(inference.default_id(), None)],
        }
    }

    fn not_allowed(&self, inference: &Inference, name: &str) -> Denied {
        let names = self.allowed(inference).into_iter().map(|(name, revision)| match revision {
            Some(revision) => format!("\"{name}@{revision}\""),
            None => format!("\"{name}\""),
        });
        let name = quoted(name);
        let line = names.chain([format!("\"{name}\"")]).collect::<Vec<_>>().join(", ");
        Denied::NotAllowed { slot: self.slot.as_str(), name, line }
    }

    /// Embeds for a guest. Waits for one of the slot's places; dropping the future gives all back.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn embed(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        choice: &Choice,
    ) -> Result<Embedded, Refusal> {
        let inference = self.inference()?;
        let work = async |deadline| inference.embed(model, texts, choice, deadline).await;
        self.counted(model, work).await
    }

    /// The same for token ids that the guest made itself.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn embed_ids(&self, model: &ServedModel, ids: Vec<Vec<u32>>) -> Result<Embedded, Refusal> {
        let inference = self.inference()?;
        self.counted(model, async |deadline| inference.embed_ids(model, ids, deadline).await).await
    }

    async fn counted(
        &self,
        model: &ServedModel,
        work: impl AsyncFnOnce(Instant) -> Result<Embedded, Refusal>,
    ) -> Result<Embedded, Refusal> {
        let embedded = self.within_quota(work).await;
        match &embedded {
            Ok(embedded) => self.metrics.spent(&model.id, &Spent::of(embedded)),
            Err(refusal) => self.metrics.refused(match refusal {
                Refusal::Quota { .. } => RefusedInference::TokensPerSecond,
                Refusal::Invalid(_) => RefusedInference::Invalid,
                Refusal::Overloaded | Refusal::Deadline | Refusal::Stopped | Refusal::Internal => {
                    RefusedInference::Unavailable
                }
            }),
        }
        embedded
    }

    async fn within_quota(
        &self,
        work: impl AsyncFnOnce(Instant) -> Result<Embedded, Refusal>,
    ) -> Result<Embedded, Refusal> {
        let deadline = Instant::now() + self.deadline;
        let _place = self.place(deadline).await?;
        self.tokens.admit().map_err(|retry_after| Refusal::Quota { retry_after })?;
        let embedded = work(deadline).await?;
        self.tokens.spend(embedded.tokens);
        Ok(embedded)
    }
}

impl Gate {
    fn inference(&self) -> Result<&Inference, Refusal> {
        self.inference.as_deref().ok_or(Refusal::Stopped)
    }

    async fn place(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Refusal> {
        let place = Arc::clone(&self.calls).acquire_owned();
        let place = tokio::time::timeout_at(deadline.into(), place).await;
        place.map_err(|_| Refusal::Deadline)?.map_err(|_| Refusal::Stopped)
    }

    /// Runs `work` on a thread that may be busy for long. It keeps one of the slot's places to its end, even when the
    /// guest has left.
    ///
    /// # Errors
    /// When there is no place in time, or the work panics.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = self.place(Instant::now() + self.deadline).await?;
        let worked = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        worked.await.map_err(|_| Refusal::Internal)
    }
}

fn named(inference: &Inference, name: &str) -> Option<Graph> {
    let model = inference.shared(name).map(Graph::Model);
    let head = || inference.head(name).cloned().map(Graph::Head);
    model.or_else(head).or_else(|| inference.onnx(name).cloned().map(Graph::Onnx))
}

fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('@').map_or((name, None), |(name, revision)| (name, Some(revision)))
}
