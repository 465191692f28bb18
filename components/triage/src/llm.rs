//! The strategy that asks a language model for the category.
//!
//! The system message holds instructions and categories; the user message holds the customer's text, without personal
//! data, as one JSON string: text cannot end a JSON string, so it cannot pass for instructions. The reply is checked:
//! a category that is not configured is an error, and only figures of the ticket or the configuration are repeated.
//! The configuration alone decides on action and publication.

mod prompt;
mod reply;
mod supported;
#[cfg(test)]
mod tests;

use bulkhead_text::language::Language;
use bulkhead_ticket_text::llm::{Failure, Question};
use bulkhead_ticket_text::redact::Redacted;
use bulkhead_triage_configuration::Configuration;

use crate::decision::{Decision, decide};

pub use prompt::{VERSION, schema, system};

/// Maximum number of tokens of a reply: a name, a number and two sentences.
pub const ANSWER_TOKENS: u32 = 400;

/// Why the language model did not choose the category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmClassifierError {
    /// The model did not answer.
    Failed(Failure),
    /// It named a category that is not configured.
    Category,
    /// Its confidence is not between 0 and 1.
    Confidence,
}

impl From<Failure> for LlmClassifierError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The model's decision and its reasoning.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The decision under the thresholds of the configuration.
    pub decision: Decision,
    /// The reasoning on one line with personal data restored; empty if no sentence of it is supported.
    pub reasoning: String,
}

/// Returns the question to ask about a text.
pub fn question(configuration: &Configuration, redacted: &Redacted, language: Language) -> Question {
    Question {
        system: system(configuration, language),
        user: prompt::user(redacted.text()),
        schema: schema(configuration),
    }
}

/// Parses and checks a reply.
///
/// # Errors
///
/// Fails with the reason why the reply is unusable; the error never quotes the reply.
pub fn advice(
    configuration: &Configuration,
    redacted: &Redacted,
    answer: &str,
) -> Result<Advice, LlmClassifierError> {
    let reply = reply::read(answer)?;
    if configuration.category(&reply.category).is_none() {
        return Err(LlmClassifierError::Category);
    }
    let decision = decide(configuration, &[reply.category], &[reply.confidence]);
    let reasoning = supported::supported_sentences(configuration, redacted, &reply.reasoning);
    Ok(Advice { decision, reasoning: reply::shortened(reasoning) })
}
