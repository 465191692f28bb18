//! Entry point of the component: answers one ticket with the host's search, language model and guard.

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

/// Why the knowledge base returned no passages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchError {
    /// There is no knowledge base, or no model to search it with.
    Unavailable,
    /// The search failed.
    Failed(String),
}

/// The functions that the component needs from its host.
pub trait Host {
    /// Returns the passages with the best items for `texts`, best first: only documents for `category`, if given. The
    /// first text is the question as a whole, the others are its sentences.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there are no passages.
    fn find(&self, texts: &[String], limit: u32, category: Option<&str>)
    -> Result<Vec<Passage>, SearchError>;

    /// Returns the language model's reply to a question.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the model did not reply.
    fn ask(&self, question: &Question) -> Result<String, Failure>;

    /// Returns the guard's verdict on a ticket's text, or on the answer to it, if given.
    fn guard(&self, text: &str, answer: Option<&str>) -> Verdict;
}

/// How answers are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Quotes sentences of the passages.
    #[default]
    Extractive,
    /// Asks the language model, and quotes sentences of the passages when that fails.
    Llm,
}

/// The host's policy for answering tickets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// How answers are written.
    pub strategy: Strategy,
    /// How to treat texts that the guard calls unsafe.
    pub guarding: Guarding,
}

/// The ticket to answer.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The ticket's text as received.
    pub text: &'a str,
    /// Name of its category.
    pub category: &'a str,
    /// Name of the chosen action.
    pub action: &'a str,
}

/// Source of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Written from the documents.
    Answered,
    /// Taken from the configuration.
    Configured,
    /// No answer.
    None,
}

/// The answer to a ticket.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The response text.
    pub response: String,
    /// The documents it cites; `[n]` refers to the n-th.
    pub documents: Vec<Document>,
    /// Whether it may be published without a clerk.
    pub auto_publish: bool,
    /// Source of the response.
    pub outcome: Outcome,
    /// Why there is no answer, why it is not published, and why the language model did not write it.
    pub reason: Option<String>,
    /// Relevance of the best cited document.
    pub score: Option<f32>,
    /// ISO 639 code of the ticket's language.
    pub language: Option<String>,
}

/// Why a ticket gets no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No action has this name.
    #[error("no action found with name: {0}")]
    UnknownAction(String),
    /// The guard calls the text unsafe and the policy refuses such texts; holds the guard's labels.
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

/// Answers a ticket. The answer holds only statements supported by passages, and only the configuration allows
/// publication.
///
/// # Errors
///
/// Fails when the guard calls the text unsafe and the policy refuses such texts, when the action does not exist, or
/// when the search fails.
pub fn answer<H: Host>(
    host: &H,
    configuration: &Configuration,
    policy: Policy,
    request: Request<'_>,
) -> Result<Reply, Error> {
    let mut call = Call::new(host, configuration, policy, request);
    // The guard comes first: it refuses a ticket whatever its action, even one that does not exist.
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
