//! The answer service: passes the configuration and tickets to its component, and checks the replies.

mod settings;
mod shadow_diff;
mod world;

use std::sync::Arc;

use bulkhead_config::slots::SlotSettings;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::invoke::{self, BadAnswer};
use bulkhead_runtime::slots::{Slot, SlotContext};
use bulkhead_service::single_flight::{ServingVersions, SingleFlight, serving_versions};
use bulkhead_telemetry::{escape_guest, guest_lines, quoted};

use self::world::{Error, Guarding, Settings, Strategy};
use crate::config::{TicketSettings, answer::AnswerStrategy};
use crate::triage::{PromptVersion, Rules};

pub use self::world::{AnswerWorld, Document, Outcome, Reply, Request};

/// The maximum bytes of a guest's error text that are passed on.
const ERROR_BYTES: usize = 1000;

/// Why a ticket cannot be answered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AnswerError {
    /// The slot is empty, overloaded, or the sandbox ended the call.
    #[error(transparent)]
    Call(#[from] invoke::CallError),
    /// No triage configuration is loaded.
    #[error("no triage configuration is loaded; set tickets.triage")]
    Unconfigured,
    /// No action has this name.
    #[error("No action found with name: {0}")]
    UnknownAction(String),
    /// The guard judges the ticket or its answer unsafe.
    #[error("{0}")]
    Refused(String),
    /// The knowledge base cannot be searched now.
    #[error("{0}")]
    Unavailable(String),
    /// The component rejects the configuration, or failed.
    #[error("the answer component failed: {0}")]
    Guest(String),
}

/// The answer service.
#[derive(Debug)]
pub struct AnswerService {
    slot: Arc<Slot<AnswerWorld>>,
    /// Shared by all calls: it holds the whole configuration.
    settings: Option<Arc<Settings>>,
    /// The cache of the prompt versions.
    prompts: SingleFlight<ServingVersions, Result<Vec<PromptVersion>, AnswerError>>,
}

impl AnswerService {
    /// Creates the service with an empty slot. `rules` is the triage configuration; `resources` hold the knowledge base, the
    /// language model and the guard.
    ///
    /// # Errors
    /// When the configuration cannot be serialised for the component.
    pub fn new(
        slot: &SlotSettings,
        context: SlotContext,
        resources: SlotResources,
        rules: Option<&Rules>,
        tickets: &TicketSettings,
    ) -> Result<Self, serde_json::Error> {
        let metrics = resources.metrics.slot(slot.id());
        let slot = Arc::new(Slot::new(context, slot.clone(), resources, metrics));
        let configuration =
            rules.map(|rules| settings::configuration(rules, &tickets.answer, &tickets.knowledge));
        let configuration =
            configuration.map(|configuration| serde_json::to_string(&configuration)).transpose()?;
        let settings = configuration.map(|configuration| Settings {
            configuration,
            strategy: match tickets.answer.strategy {
                AnswerStrategy::Extractive => Strategy::Extractive,
                AnswerStrategy::Llm => Strategy::Llm,
            },
            guarding: match &tickets.guard {
                None => Guarding::Off,
                Some(guard) if guard.block => Guarding::Refuse,
                Some(_) => Guarding::Withhold,
            },
        });
        Ok(Self { slot, settings: settings.map(Arc::new), prompts: SingleFlight::default() })
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<AnswerWorld>> {
        &self.slot
    }

    /// Answers a ticket. Calls of one `session` go to one version.
    ///
    /// # Errors
    /// See [`AnswerError`].
    pub async fn answer(&self, session: &str, request: Request) -> Result<Reply, AnswerError> {
        let settings = self.settings.clone().ok_or(AnswerError::Unconfigured)?;
        let reply = invoke::call_shadowed(
            &self.slot,
            Some(session.as_bytes()),
            "answer",
            checked_reply,
            move |answer, store| {
                Box::pin(async move {
                    answer.bulkhead_answer_answers().call_answer(store, &settings, &request).await
                })
            },
        );
        reply.await?.map_err(guest_error)
    }

    /// Returns the versions of the texts that answers depend on. The call is public, so all callers get the same answer for
    /// five seconds, unless versions change.
    ///
    /// # Errors
    /// See [`AnswerError`].
    pub async fn prompt_versions(&self) -> Result<Vec<PromptVersion>, AnswerError> {
        let settings = self.settings.clone().ok_or(AnswerError::Unconfigured)?;
        let versions = serving_versions(&self.slot).map_err(invoke::CallError::from)?;
        self.prompts.get(versions, self.ask_prompt_versions(settings)).await
    }

    /// Calls the component for its prompt versions.
    async fn ask_prompt_versions(&self, settings: Arc<Settings>) -> Result<Vec<PromptVersion>, AnswerError> {
        let versions = invoke::call(&self.slot, convert_versions, move |answer, store| {
            Box::pin(
                async move { answer.bulkhead_answer_answers().call_prompt_versions(store, &settings).await },
            )
        });
        versions.await?.map_err(guest_error)
    }
}

/// Checks that the numbers of a reply can be written as JSON.
fn checked_reply(reply: Reply) -> Result<Reply, BadAnswer> {
    let mut scores = reply.documents.iter().map(|document| document.score).chain(reply.score);
    match scores.all(f32::is_finite) {
        true => Ok(reply),
        false => Err(BadAnswer("a score of the reply is not finite")),
    }
}

/// Converts the component's prompt versions.
fn convert_versions(found: Vec<world::PromptVersion>) -> Result<Vec<PromptVersion>, BadAnswer> {
    let version = |world::PromptVersion { name, version, text }| PromptVersion::new(name, version, &text);
    Ok(found.into_iter().map(version).collect())
}

/// Converts an error of the component, whose text is escaped.
fn guest_error(error: Error) -> AnswerError {
    let escape = |text: String| escape_guest(&text, ERROR_BYTES);
    match error {
        Error::UnknownAction(name) => AnswerError::UnknownAction(quoted(&name)),
        Error::Refused(reason) => AnswerError::Refused(escape(reason)),
        Error::Unavailable(reason) => AnswerError::Unavailable(escape(reason)),
        Error::Configuration(text) | Error::Internal(text) => {
            AnswerError::Guest(guest_lines(&text, ERROR_BYTES).join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(score: Option<f32>, scores: &[f32]) -> Reply {
        let document = |score: &f32| Document {
            title: "Mooring".to_owned(),
            url: "https://port.example/".to_owned(),
            score: *score,
            quote: "12 EUR".to_owned(),
        };
        Reply {
            response: "12 EUR".to_owned(),
            documents: scores.iter().map(document).collect(),
            auto_publish: false,
            outcome: Outcome::Answered,
            reason: None,
            score,
            language: None,
        }
    }

    #[test]
    fn infinite_scores_are_rejected() {
        assert!(
            checked_reply(reply(Some(0.5), &[0.5, 0.1])).is_ok() && checked_reply(reply(None, &[])).is_ok()
        );
        for (score, scores) in
            [(Some(f32::NAN), &[0.5][..]), (Some(f32::INFINITY), &[]), (None, &[0.5, f32::NAN])]
        {
            assert!(checked_reply(reply(score, scores)).is_err(), "{score:?} {scores:?}");
        }
    }
}
