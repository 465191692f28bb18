//! The triage service: what its component is told to decide by, and what it decides.

mod rules;
mod shadow_diff;
mod world;

use std::sync::Arc;

use bulkhead_config::slots::Slot as SlotSettings;
use bulkhead_models::{Inference, NamedHead};
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::invoke::{self, BadAnswer};
use bulkhead_runtime::slots::{Slot, SlotContext};
use bulkhead_service::shared_answer::{self, SharedAnswer, Versions};
use bulkhead_telemetry::{escape_guest, guest_lines};
use sha2::{Digest, Sha256};

use self::world::{Classifier, Error, Guarding, Settings, Strategy};
use crate::config::{self, Tickets};

pub use self::{
    rules::{Rules, RulesError},
    world::{Action, ActionKind, Candidate, Decision, TriageWorld, Value},
};

/// Longest text of a guest's error that is passed on, bytes.
const ERROR_BYTES: usize = 1000;

/// Why there is no decision.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TriageError {
    /// The slot is empty, overloaded, or the sandbox ended the call.
    #[error(transparent)]
    Call(#[from] invoke::CallError),
    /// No configuration says what tickets are about.
    #[error("no triage configuration is loaded; set tickets.triage")]
    Unconfigured,
    /// The guard calls the ticket unsafe.
    #[error("the guard refuses this ticket: {0}")]
    Refused(String),
    /// The component does not follow the configuration, or failed.
    #[error("the triage component failed: {0}")]
    Guest(String),
}

/// One of the texts that decisions hang on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptVersion {
    /// Its name.
    pub name: String,
    /// Its number, where its source counts.
    pub version: Option<u32>,
    /// SHA-256 of the text, hex.
    pub sha256: String,
}

impl PromptVersion {
    /// The version of `text`.
    pub fn new(name: String, version: Option<u32>, text: &str) -> Self {
        Self { name, version, sha256: hex::encode(Sha256::digest(text)) }
    }

    /// Whose text it is: the component's own, whose versions the component counts, or the operator's.
    pub const fn source(&self) -> &'static str {
        match self.version {
            Some(_) => "component",
            None => "configuration",
        }
    }
}

/// The triage service.
#[derive(Debug)]
pub struct TriageService {
    slot: Arc<Slot<TriageWorld>>,
    /// Shared by all calls: it holds the whole configuration.
    settings: Option<Arc<Settings>>,
    /// By the versions that it comes from.
    prompts: SharedAnswer<Versions, Result<Vec<PromptVersion>, TriageError>>,
}

impl TriageService {
    /// The service with an empty slot. `rules` is what tickets are decided by, `tickets` by what.
    pub fn new(
        slot: &SlotSettings,
        context: SlotContext,
        resources: SlotResources,
        rules: Option<&Rules>,
        inference: Option<&Inference>,
        tickets: &Tickets,
    ) -> Self {
        let metrics = resources.metrics.slot(slot.id());
        let slot = Arc::new(Slot::new(context, slot.clone(), resources, metrics));
        let settings = rules.map(|rules| Settings {
            configuration: rules.json().to_owned(),
            classifier: classifier(inference, &tickets.head),
            strategy: match tickets.triage_strategy {
                config::Strategy::Classifier => Strategy::Classifier,
                config::Strategy::Llm => Strategy::Llm,
            },
            guarding: match &tickets.guard {
                None => Guarding::Off,
                Some(guard) if guard.block => Guarding::Refuse,
                Some(_) => Guarding::Withhold,
            },
        });
        Self { slot, settings: settings.map(Arc::new), prompts: SharedAnswer::default() }
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<TriageWorld>> {
        &self.slot
    }

    /// Whether anything classifies; else why not, for operators.
    ///
    /// # Errors
    /// The reason.
    pub fn classifies(&self) -> Result<(), String> {
        match &self.settings {
            None => Err(TriageError::Unconfigured.to_string()),
            Some(settings) => settings.classifier.as_ref().map(drop).map_err(Clone::clone),
        }
    }

    /// The categories of `rules` that the classifier cannot choose; none where nothing classifies, or where a language
    /// model does.
    pub fn unlearnt<'r>(&self, rules: &'r Rules) -> Vec<&'r str> {
        let classifier = self.settings.as_ref().and_then(|settings| settings.classifier.as_ref().ok());
        let Some(classifier) = classifier else { return Vec::new() };
        let configuration = rules.configuration();
        let none = configuration.no_category().map(|category| category.name.as_str());
        let names = configuration.categories.iter().map(|category| category.name.as_str());
        names
            .filter(|name| Some(*name) != none && !classifier.labels.iter().any(|label| label == name))
            .collect()
    }

    /// Decides on a ticket. Calls with one `session` are answered by one version.
    ///
    /// # Errors
    /// See [`TriageError`].
    pub async fn triage(&self, session: &str, text: String) -> Result<Decision, TriageError> {
        let settings = self.settings.clone().ok_or(TriageError::Unconfigured)?;
        let answer = invoke::call_shadowed(
            &self.slot,
            Some(session.as_bytes()),
            "triage",
            decided,
            move |triage, store| {
                Box::pin(async move {
                    triage.bulkhead_triage_tickets().call_triage(store, &settings, &text).await
                })
            },
        );
        answer.await?.map_err(guest_error)
    }

    /// What the running component's decisions hang on. Anybody may ask, so one answer is given to all who ask within
    /// five seconds, unless versions change.
    ///
    /// # Errors
    /// See [`TriageError`].
    pub async fn prompt_versions(&self) -> Result<Vec<PromptVersion>, TriageError> {
        let settings = self.settings.clone().ok_or(TriageError::Unconfigured)?;
        let versions = shared_answer::versions(&self.slot).map_err(invoke::CallError::from)?;
        self.prompts.get(versions, self.ask_prompt_versions(settings)).await
    }

    async fn ask_prompt_versions(&self, settings: Arc<Settings>) -> Result<Vec<PromptVersion>, TriageError> {
        let answer = invoke::call(&self.slot, versions, move |triage, store| {
            Box::pin(
                async move { triage.bulkhead_triage_tickets().call_prompt_versions(store, &settings).await },
            )
        });
        answer.await?.map_err(guest_error)
    }
}

/// A decision whose numbers JSON can hold.
fn decided(decision: Decision) -> Result<Decision, BadAnswer> {
    let mut confidences = decision.alternatives.iter().map(|candidate| candidate.confidence);
    let values = decision.extracted_values.iter();
    let finite = decision.confidence.is_finite()
        && confidences.all(f32::is_finite)
        && values
            .into_iter()
            .all(|(_, value)| !matches!(value, Value::Number(number) if !number.is_finite()));
    if finite { Ok(decision) } else { Err(BadAnswer("a number of the decision is not finite")) }
}

fn versions(found: Vec<world::PromptVersion>) -> Result<Vec<PromptVersion>, BadAnswer> {
    let version = |world::PromptVersion { name, version, text }| PromptVersion::new(name, version, &text);
    Ok(found.into_iter().map(version).collect())
}

fn guest_error(error: Error) -> TriageError {
    match error {
        Error::Refused(text) => TriageError::Refused(escape_guest(&text, ERROR_BYTES)),
        Error::Configuration(text) | Error::Internal(text) => {
            TriageError::Guest(guest_lines(&text, ERROR_BYTES).join("; "))
        }
    }
}

/// What classifies, or why nothing does, in words for whoever reads a ticket's reasoning.
fn classifier(inference: Option<&Inference>, name: &str) -> Result<Classifier, String> {
    let inference = inference.ok_or("no embedding model is loaded")?;
    if inference.default_model().is_none() && inference.head(name).is_none() {
        return Err(format!("the embedding model `{}` is not loaded", inference.default_id()));
    }
    let head: &NamedHead = inference
        .head(name)
        .ok_or_else(|| format!(
                "no classifier is loaded: give two categories at least examples or a description, or name a trained \
                 head as embedding.heads.{name}"
            ))?;
    let record = head.head.record();
    if inference.by_id(&record.model_id).is_none() {
        return Err(format!("the model `{}` of the classifier is not loaded", record.model_id));
    }
    Ok(Classifier {
        model: record.model_id.clone(),
        prompt_name: record.prompt.as_ref().map(|prompt| prompt.name.clone()),
        head: head.name.clone(),
        labels: head.head.labels().map(str::to_owned).collect(),
        features: record.sparse.as_ref().map(ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(confidence: f32, behind: f32, value: Value) -> Decision {
        let text = || "a".to_owned();
        Decision {
            user_text: text(),
            category: text(),
            auto_publish: false,
            action: Action { name: text(), description: text(), kind: ActionKind::NoAction, answer: None },
            reasoning: text(),
            confidence,
            extracted_values: vec![(text(), value)],
            alternatives: vec![Candidate { name: text(), confidence: behind }],
            language: None,
            internal_note: None,
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        assert!(decided(decision(0.5, 0.1, Value::Number(1.5))).is_ok());
        for (confidence, behind, value) in [
            (f32::NAN, 0.1, Value::Boolean(true)),
            (0.5, f32::INFINITY, Value::Boolean(true)),
            (0.5, 0.1, Value::Number(f64::NAN)),
        ] {
            assert!(decided(decision(confidence, behind, value)).is_err(), "{confidence} {behind}");
        }
    }
}
