//! The triage service: passes the configuration and tickets to its component, and checks the decisions.

pub mod import;
mod reading;
mod rules;
mod shadow_diff;
pub mod spanned_toml;
mod world;

use std::sync::Arc;

use bulkhead_config::slots::SlotSettings;
use bulkhead_models::{Inference, NamedHead};
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::invoke::{self, BadAnswer};
use bulkhead_runtime::slots::{Slot, SlotContext};
use bulkhead_service::single_flight::{ServingVersions, SingleFlight, serving_versions};
use bulkhead_telemetry::{escape_guest, guest_lines};
use sha2::{Digest, Sha256};

use self::world::{Classifier, Error, Guarding, Settings, Strategy};
use crate::config::{TicketSettings, TriageStrategy};

pub use self::{
    rules::{Rules, RulesError},
    world::{Action, ActionKind, Candidate, Decision, TriageWorld, Value},
};

/// The maximum bytes of a guest's error text that are passed on.
const ERROR_BYTES: usize = 1000;

/// Why a ticket cannot be triaged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TriageError {
    /// The slot is empty, overloaded, or the sandbox ended the call.
    #[error(transparent)]
    Call(#[from] invoke::CallError),
    /// No triage configuration is loaded.
    #[error("no triage configuration is loaded; set tickets.triage")]
    Unconfigured,
    /// The guard judges the ticket unsafe.
    #[error("the guard refuses this ticket: {0}")]
    Refused(String),
    /// The component rejects the configuration, or failed.
    #[error("the triage component failed: {0}")]
    Guest(String),
}

/// The version of a prompt or configuration text that decisions depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptVersion {
    /// Its name.
    pub name: String,
    /// Its number, where its source numbers versions.
    pub version: Option<u32>,
    /// SHA-256 of the text, hex.
    pub sha256: String,
}

impl PromptVersion {
    /// Returns the version of `text`.
    pub fn new(name: String, version: Option<u32>, text: &str) -> Self {
        Self { name, version, sha256: hex::encode(Sha256::digest(text)) }
    }

    /// Returns the source of the text: the component, which numbers its versions, or the operator's configuration.
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
    /// The cache of the prompt versions.
    prompts: SingleFlight<ServingVersions, Result<Vec<PromptVersion>, TriageError>>,
}

impl TriageService {
    /// Creates the service with an empty slot. `rules` is the triage configuration, `tickets` the settings.
    pub fn new(
        slot: &SlotSettings,
        context: SlotContext,
        resources: SlotResources,
        rules: Option<&Rules>,
        inference: Option<&Inference>,
        tickets: &TicketSettings,
    ) -> Self {
        let metrics = resources.metrics.slot(slot.id());
        let slot = Arc::new(Slot::new(context, slot.clone(), resources, metrics));
        let settings = rules.map(|rules| Settings {
            configuration: rules.json().to_owned(),
            classifier: classifier(inference, &tickets.head),
            strategy: match tickets.triage_strategy {
                TriageStrategy::Classifier => Strategy::Classifier,
                TriageStrategy::Llm => Strategy::Llm,
            },
            guarding: match &tickets.guard {
                None => Guarding::Off,
                Some(guard) if guard.block => Guarding::Refuse,
                Some(_) => Guarding::Withhold,
            },
        });
        Self { slot, settings: settings.map(Arc::new), prompts: SingleFlight::default() }
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<TriageWorld>> {
        &self.slot
    }

    /// Checks that a classifier is loaded.
    ///
    /// # Errors
    /// The reason why none is, for operators.
    pub(crate) fn check_classifier(&self) -> Result<(), String> {
        match &self.settings {
            None => Err(TriageError::Unconfigured.to_string()),
            Some(settings) => settings.classifier.as_ref().map(drop).map_err(Clone::clone),
        }
    }

    /// Returns the categories of `rules` that the classifier does not know, or nothing without a classifier.
    pub(crate) fn unlearnt_categories<'r>(&self, rules: &'r Rules) -> Vec<&'r str> {
        let classifier = self.settings.as_ref().and_then(|settings| settings.classifier.as_ref().ok());
        let Some(classifier) = classifier else { return Vec::new() };
        let configuration = rules.configuration();
        let none = configuration.no_category().map(|category| category.name.as_str());
        let names = configuration.categories.iter().map(|category| category.name.as_str());
        names
            .filter(|name| Some(*name) != none && !classifier.labels.iter().any(|label| label == name))
            .collect()
    }

    /// Triages a ticket. Calls of one `session` go to one version.
    ///
    /// # Errors
    /// See [`TriageError`].
    pub async fn triage(&self, session: &str, text: String) -> Result<Decision, TriageError> {
        let settings = self.settings.clone().ok_or(TriageError::Unconfigured)?;
        let answer = invoke::call_shadowed(
            &self.slot,
            Some(session.as_bytes()),
            "triage",
            checked_decision,
            move |triage, store| {
                Box::pin(async move {
                    triage.bulkhead_triage_tickets().call_triage(store, &settings, &text).await
                })
            },
        );
        answer.await?.map_err(guest_error)
    }

    /// Returns the versions of the texts that decisions depend on. The call is public, so all callers get the same answer for
    /// five seconds, unless versions change.
    ///
    /// # Errors
    /// See [`TriageError`].
    pub async fn prompt_versions(&self) -> Result<Vec<PromptVersion>, TriageError> {
        let settings = self.settings.clone().ok_or(TriageError::Unconfigured)?;
        let versions = serving_versions(&self.slot).map_err(invoke::CallError::from)?;
        self.prompts.get(versions, self.ask_prompt_versions(settings)).await
    }

    /// Calls the component for its prompt versions.
    async fn ask_prompt_versions(&self, settings: Arc<Settings>) -> Result<Vec<PromptVersion>, TriageError> {
        let answer = invoke::call(&self.slot, convert_versions, move |triage, store| {
            Box::pin(
                async move { triage.bulkhead_triage_tickets().call_prompt_versions(store, &settings).await },
            )
        });
        answer.await?.map_err(guest_error)
    }
}

/// Checks that the numbers of a decision can be written as JSON.
fn checked_decision(decision: Decision) -> Result<Decision, BadAnswer> {
    let mut confidences = decision.alternatives.iter().map(|candidate| candidate.confidence);
    let values = decision.extracted_values.iter();
    let finite = decision.confidence.is_finite()
        && confidences.all(f32::is_finite)
        && values
            .into_iter()
            .all(|(_, value)| !matches!(value, Value::Number(number) if !number.is_finite()));
    if finite { Ok(decision) } else { Err(BadAnswer("a number of the decision is not finite")) }
}

/// Converts the component's prompt versions.
fn convert_versions(found: Vec<world::PromptVersion>) -> Result<Vec<PromptVersion>, BadAnswer> {
    let version = |world::PromptVersion { name, version, text }| PromptVersion::new(name, version, &text);
    Ok(found.into_iter().map(version).collect())
}

/// Converts an error of the component, whose text is escaped.
fn guest_error(error: Error) -> TriageError {
    match error {
        Error::Refused(text) => TriageError::Refused(escape_guest(&text, ERROR_BYTES)),
        Error::Configuration(text) | Error::Internal(text) => {
            TriageError::Guest(guest_lines(&text, ERROR_BYTES).join("; "))
        }
    }
}

/// Describes the loaded classifier for the component, or returns why none is loaded, for the reasoning of decisions.
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
    let model = inference
        .of_head(record)
        .ok_or_else(|| format!("the model `{}` of the classifier is not loaded", record.model_id))?;
    Ok(Classifier {
        model: model.id.clone(),
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
    fn infinite_numbers_are_rejected() {
        assert!(checked_decision(decision(0.5, 0.1, Value::Number(1.5))).is_ok());
        for (confidence, behind, value) in [
            (f32::NAN, 0.1, Value::Boolean(true)),
            (0.5, f32::INFINITY, Value::Boolean(true)),
            (0.5, 0.1, Value::Number(f64::NAN)),
        ] {
            assert!(checked_decision(decision(confidence, behind, value)).is_err(), "{confidence} {behind}");
        }
    }
}
