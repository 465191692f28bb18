//! What one slot's guests may use of the models: an allow-list, calls at once, and tokens a second.

mod tokens;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::engine::Embedded;
use tokio::sync::Semaphore;

use self::tokens::TokenBudget;
use super::{Choice, Inference, Refusal, ServedModel};
use crate::{
    config::slots::{Slot, SlotName},
    telemetry::metrics::{RefusedInference, SlotInference, Spent},
};

/// A slot's way to the models.
#[derive(Debug)]
pub struct Gate {
    slot: SlotName,
    inference: Option<Arc<Inference>>,
    /// Names of models; none: the default model only.
    allowed: Option<Vec<String>>,
    calls: Semaphore,
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
        /// The model as the guest named it.
        name: String,
        /// The list that would allow it.
        line: String,
    },
    /// It is allowed and not there.
    #[error("`{name}` is not loaded: {remedy}")]
    NotLoaded {
        /// The model as the guest named it.
        name: String,
        /// What an operator can do about it.
        remedy: String,
    },
}

impl Gate {
    /// The gate of `slot` with the allow-list and quotas of its `settings`.
    pub fn new(
        slot: SlotName,
        settings: &Slot,
        inference: Option<Arc<Inference>>,
        metrics: SlotInference,
    ) -> Self {
        Self {
            slot,
            inference,
            allowed: settings.models.clone(),
            calls: Semaphore::new(settings.limits.inference_calls),
            tokens: TokenBudget::new(settings.limits.inference_tokens_per_second),
            deadline: settings.limits.deadline,
            metrics,
        }
    }

    /// The model that a guest calls `name`: an id, an alias, or either with `@` and the first characters of its
    /// weights' SHA-256.
    ///
    /// # Errors
    /// When the slot may not use it, or it is not there.
    pub fn model(&self, name: &str) -> Result<Arc<ServedModel>, Denied> {
        self.find(name).inspect_err(|_| self.metrics.refused(RefusedInference::Model))
    }

    fn find(&self, name: &str) -> Result<Arc<ServedModel>, Denied> {
        let Some(inference) = &self.inference else {
            let slot = self.slot.as_str();
            let remedy = format!("no model is; turn services.embedding on or name it in slots.{slot}.models");
            return Err(Denied::NotLoaded { name: name.to_owned(), remedy });
        };
        let (wanted, revision) = split(name);
        let found = inference.shared(wanted);
        let id = found.as_ref().map_or(wanted, |model| model.id.as_str());
        let rule = self.allowed(inference).into_iter().find(|(allowed, _)| {
            let allowed =
                inference.shared(allowed).map_or_else(|| (*allowed).to_owned(), |model| model.id.clone());
            allowed == id
        });
        let Some((_, pinned)) = rule else { return Err(self.not_allowed(inference, name)) };
        let not_loaded = |remedy: String| Denied::NotLoaded { name: name.to_owned(), remedy };
        let Some(model) = found else {
            let missing = inference.missing().iter().find(|missing| missing.id == wanted);
            let remedy = missing.map_or("name it in embedding.models", |missing| &missing.remedy);
            return Err(not_loaded(remedy.to_owned()));
        };
        for revision in [revision, pinned].into_iter().flatten() {
            if !model.is_revision(revision) {
                let loaded = &model.model.description().weights_sha256;
                let loaded: String = loaded.chars().take(12).collect();
                return Err(not_loaded(format!("its weights are {}@{loaded}", model.id)));
            }
        }
        Ok(model)
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
        let line = names.chain([format!("{name:?}")]).collect::<Vec<_>>().join(", ");
        Denied::NotAllowed { slot: self.slot.as_str(), name: name.to_owned(), line }
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
        let embedded = self.within_quota(model, texts, choice).await;
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
        model: &ServedModel,
        texts: Vec<String>,
        choice: &Choice,
    ) -> Result<Embedded, Refusal> {
        let inference = self.inference.as_ref().ok_or(Refusal::Stopped)?;
        let deadline = Instant::now() + self.deadline;
        let place = tokio::time::timeout_at(deadline.into(), self.calls.acquire()).await;
        let _place = place.map_err(|_| Refusal::Deadline)?.map_err(|_| Refusal::Stopped)?;
        self.tokens.admit().map_err(|retry_after| Refusal::Quota { retry_after })?;
        let embedded = inference.embed(model, texts, choice, deadline).await?;
        self.tokens.spend(embedded.tokens);
        Ok(embedded)
    }
}

fn split(name: &str) -> (&str, Option<&str>) {
    name.split_once('@').map_or((name, None), |(name, revision)| (name, Some(revision)))
}
