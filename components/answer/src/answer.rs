//! A ticket's way to its answer.

mod call;
mod draft;
#[cfg(test)]
mod tests;
mod written;

use bulkhead_answer_configuration::{ActionType, Configuration};
use bulkhead_ticket_text::guarding::{Guarding, Judged, Verdict, found};
use bulkhead_ticket_text::llm::{Failure, Question};

use crate::passage::Passage;
use crate::references::Document;
use crate::wording::NoAnswer;
use call::Call;

/// Why the knowledge base gives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchError {
    /// There is none, or nothing to search it with.
    Unavailable,
    /// It failed this time.
    Failed(String),
}

/// What the component asks of its host.
pub trait Host {
    /// Passages that `text` is about, best first: of documents for `category` or for any, if one is given.
    ///
    /// # Errors
    ///
    /// With the reason why there are none.
    fn search(&self, text: &str, limit: u32, category: Option<&str>) -> Result<Vec<Passage>, SearchError>;

    /// What the language model answers to a question.
    ///
    /// # Errors
    ///
    /// With the reason why it does not.
    fn ask(&self, question: &Question) -> Result<String, Failure>;

    /// What the guard says of a ticket's text, or of the answer to it where there is one.
    fn guard(&self, text: &str, answer: Option<&str>) -> Verdict;
}

/// Who writes answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Nobody: they are sentences of the passages.
    #[default]
    Extractive,
    /// The language model; where that fails, they are sentences of the passages.
    Llm,
}

/// How the host wants tickets answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// Who writes.
    pub strategy: Strategy,
    /// What follows from a guard's objection.
    pub guarding: Guarding,
}

/// What is to be answered.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The ticket, as it came.
    pub text: &'a str,
    /// Name of its category.
    pub category: &'a str,
    /// Name of the action that is taken.
    pub action: &'a str,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// From the documents.
    Answered,
    /// From the configuration.
    Configured,
    /// There is none.
    None,
}

/// The answer to a ticket.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text.
    pub response: String,
    /// What it was written from; `[n]` refers to the n-th.
    pub documents: Vec<Document>,
    /// Whether it may be published without a clerk.
    pub auto_publish: bool,
    /// Where it comes from.
    pub outcome: Outcome,
    /// Why there is none, why it is not published, and why the language model has not written it.
    pub reason: Option<String>,
    /// Relevance of the best document that it rests on.
    pub score: Option<f32>,
    /// ISO 639 code of the ticket's language.
    pub language: Option<String>,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No action has this name.
    #[error("no action found with name: {0}")]
    UnknownAction(String),
    /// The guard objects, and what it objects to is to be refused; its words for what it found.
    #[error("the guard refuses this {}: {}", name(.0), found(.1))]
    Unsafe(Judged, Vec<String>),
    /// The search failed.
    #[error("{0}")]
    Search(String),
}

fn name(judged: &Judged) -> &'static str {
    match judged {
        Judged::Message => "ticket",
        Judged::Answer => "answer",
    }
}

/// Answers a ticket. Whatever a language model writes, only what passages say is answered, and only the configuration
/// publishes it.
///
/// # Errors
///
/// When a guard's objection is to be followed so, the action does not exist, or the search fails.
pub fn answer<H: Host>(
    host: &H,
    configuration: &Configuration,
    policy: Policy,
    request: Request<'_>,
) -> Result<Reply, Error> {
    let mut call = Call::new(host, configuration, policy, request);
    // Before all else: a ticket that is to be refused is, whatever its action and whether or not that exists.
    if !call.is_empty() {
        call.judge()?;
    }
    let action = configuration
        .action(request.action)
        .ok_or_else(|| Error::UnknownAction(request.action.to_owned()))?;
    match action.kind {
        ActionType::NoAction => Ok(call.none(&NoAnswer::Action)),
        ActionType::StaticAnswer => Ok(call.configured(action)),
        ActionType::AIAnswer if !call.has_words() => Ok(call.none(&NoAnswer::Wordless)),
        ActionType::AIAnswer => call.written(),
    }
}
