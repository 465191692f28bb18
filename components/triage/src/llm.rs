//! The strategy that asks a language model for the category.
//!
//! The model sees instructions and categories in the system message, and the customer's text, without personal data,
//! as one JSON string in the user message: text cannot end a JSON string, so it cannot pass for instructions. Whatever
//! comes back is checked; a category that is not configured is no answer, and no figure is repeated that nobody has
//! named. Which action follows, and whether answers are published, is the configuration's to say and never asked.

mod borne;
mod prompt;
mod reply;
#[cfg(test)]
mod tests;

use bulkhead_ticket_text::language::Language;
use bulkhead_ticket_text::llm::{Failure, Question};
use bulkhead_ticket_text::redact::Redacted;
use bulkhead_triage_configuration::Configuration;

use crate::decision::{Decision, decide};

pub use prompt::{VERSION, schema, system};

/// Tokens of an answer: a name, a number and two sentences.
pub const ANSWER_TOKENS: u32 = 400;

/// Why the language model has not chosen the category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unadvised {
    /// It has not answered.
    Failed(Failure),
    /// It named a category that is not configured.
    Category,
    /// Its confidence is no share.
    Confidence,
}

impl From<Failure> for Unadvised {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What the model decided, and why in its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Under the thresholds of the configuration.
    pub decision: Decision,
    /// One line, personal data restored, and nothing where it has no reason that holds.
    pub reasoning: String,
}

/// What to ask about a text.
pub fn question(configuration: &Configuration, redacted: &Redacted, language: Language) -> Question {
    Question {
        system: system(configuration, language),
        user: prompt::user(redacted.text()),
        schema: schema(configuration),
    }
}

/// Reads an answer.
///
/// # Errors
///
/// With why it is none; never with a word of the answer.
pub fn advice(configuration: &Configuration, redacted: &Redacted, answer: &str) -> Result<Advice, Unadvised> {
    let reply = reply::read(answer)?;
    if configuration.category(&reply.category).is_none() {
        return Err(Unadvised::Category);
    }
    let decision = decide(configuration, &[reply.category], &[reply.confidence]);
    let reasoning = borne::borne(configuration, redacted, &reply.reasoning);
    Ok(Advice { decision, reasoning: reply::shortened(reasoning) })
}
