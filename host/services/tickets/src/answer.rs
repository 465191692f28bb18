//! The answer service: what its component is told to work by, and what it answers.

mod settings;
mod shadow_diff;
mod world;

use std::sync::Arc;

use bulkhead_config::slots::Slot as SlotSettings;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::invoke::{self, BadAnswer};
use bulkhead_runtime::slots::{Slot, SlotContext};
use bulkhead_service::shared_answer::{self, SharedAnswer, Versions};
use bulkhead_telemetry::{escape_guest, guest_lines, quoted};

use self::world::{Error, Guarding, Settings, Strategy};
use crate::config::{self, Tickets};
use crate::triage::{PromptVersion, Rules};

pub use self::world::{AnswerWorld, Document, Outcome, Reply, Request};

/// Longest text of a guest's error that is passed on, bytes.
const ERROR_BYTES: usize = 1000;

/// Why there is no reply.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AnswerError {
    /// The slot is empty, overloaded, or the sandbox ended the call.
    #[error(transparent)]
    Call(#[from] invoke::CallError),
    /// No configuration says which actions there are.
    #[error("no triage configuration is loaded; set tickets.triage")]
    Unconfigured,
    /// No action has this name.
    #[error("No action found with name: {0}")]
    UnknownAction(String),
    /// The guard calls the ticket, or the answer to it, unsafe.
    #[error("{0}")]
    Refused(String),
    /// The knowledge base cannot be searched this time.
    #[error("{0}")]
    Unavailable(String),
    /// The component does not follow the configuration, or failed.
    #[error("the answer component failed: {0}")]
    Guest(String),
}

/// The answer service.
#[derive(Debug)]
pub struct AnswerService {
    slot: Arc<Slot<AnswerWorld>>,
    /// Shared by all calls: it holds the whole configuration.
    settings: Option<Arc<Settings>>,
    /// By the versions that it comes from.
    prompts: SharedAnswer<Versions, Result<Vec<PromptVersion>, AnswerError>>,
}

impl AnswerService {
    /// The service with an empty slot. `rules` is what triage decides by; `resources` have the knowledge base, the language
    /// model and the guard.
    ///
    /// # Errors
    /// When the configuration cannot be written down for the component.
    pub fn new(
        slot: &SlotSettings,
        context: SlotContext,
        resources: SlotResources,
        rules: Option<&Rules>,
        tickets: &Tickets,
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
                config::answer::Strategy::Extractive => Strategy::Extractive,
                config::answer::Strategy::Llm => Strategy::Llm,
            },
            guarding: match &tickets.guard {
                None => Guarding::Off,
                Some(guard) if guard.block => Guarding::Refuse,
                Some(_) => Guarding::Withhold,
            },
        });
        Ok(Self { slot, settings: settings.map(Arc::new), prompts: SharedAnswer::default() })
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<AnswerWorld>> {
        &self.slot
    }

    /// Answers a ticket. Calls with one `session` are answered by one version.
    ///
    /// # Errors
    /// See [`AnswerError`].
    pub async fn answer(&self, session: &str, request: Request) -> Result<Reply, AnswerError> {
        let settings = self.settings.clone().ok_or(AnswerError::Unconfigured)?;
        let reply = invoke::call_shadowed(
            &self.slot,
            Some(session.as_bytes()),
            "answer",
            answered,
            move |answer, store| {
                Box::pin(async move {
                    answer.bulkhead_answer_answers().call_answer(store, &settings, &request).await
                })
            },
        );
        reply.await?.map_err(guest_error)
    }

    /// What the running component's answers hang on. Anybody may ask, so one answer is given to all who ask within five
    /// seconds, unless versions change.
    ///
    /// # Errors
    /// See [`AnswerError`].
    pub async fn prompt_versions(&self) -> Result<Vec<PromptVersion>, AnswerError> {
        let settings = self.settings.clone().ok_or(AnswerError::Unconfigured)?;
        let versions = shared_answer::versions(&self.slot).map_err(invoke::CallError::from)?;
        self.prompts.get(versions, self.ask_prompt_versions(settings)).await
    }

    async fn ask_prompt_versions(&self, settings: Arc<Settings>) -> Result<Vec<PromptVersion>, AnswerError> {
        let versions = invoke::call(&self.slot, versions, move |answer, store| {
            Box::pin(
                async move { answer.bulkhead_answer_answers().call_prompt_versions(store, &settings).await },
            )
        });
        versions.await?.map_err(guest_error)
    }
}

/// A reply whose numbers JSON can hold.
fn answered(reply: Reply) -> Result<Reply, BadAnswer> {
    let mut scores = reply.documents.iter().map(|document| document.score).chain(reply.score);
    match scores.all(f32::is_finite) {
        true => Ok(reply),
        false => Err(BadAnswer("a score of the reply is not finite")),
    }
}

fn versions(found: Vec<world::PromptVersion>) -> Result<Vec<PromptVersion>, BadAnswer> {
    let version = |world::PromptVersion { name, version, text }| PromptVersion::new(name, version, &text);
    Ok(found.into_iter().map(version).collect())
}

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
    fn scores_that_are_not_finite_are_refused() {
        assert!(answered(reply(Some(0.5), &[0.5, 0.1])).is_ok() && answered(reply(None, &[])).is_ok());
        for (score, scores) in
            [(Some(f32::NAN), &[0.5][..]), (Some(f32::INFINITY), &[]), (None, &[0.5, f32::NAN])]
        {
            assert!(answered(reply(score, scores)).is_err(), "{score:?} {scores:?}");
        }
    }
}
