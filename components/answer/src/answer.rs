//! A ticket's way to its answer.

#[cfg(test)]
mod tests;

use bulkhead_ticket_text::clean::clean;
use bulkhead_ticket_text::language::{self, Language};
use bulkhead_ticket_text::window::window;

use crate::configuration::{Action, ActionType, Configuration};
use crate::extractive::{self, Bounds, Statement};
use crate::guard::{self, Objection};
use crate::passage::{Passage, worth_reading};
use crate::publication::{Record, hindrances};
use crate::references::{Document, referenced};
use crate::wording::{self, NoAnswer};
use crate::{grounding, wording::PLACEHOLDER};

/// Characters of a ticket that are read, at its head and at its tail: ten pages.
const MOST_READ: usize = 20_000;

/// Why the knowledge base gives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchError {
    /// There is none, or nothing to search it with.
    Unavailable(String),
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
    /// Why there is none, or why it is not published.
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
    /// The search failed.
    #[error("{0}")]
    Search(String),
}

/// A ticket that is being answered.
struct Call<'a, H> {
    host: &'a H,
    configuration: &'a Configuration,
    request: Request<'a>,
    /// What its writer wrote.
    own: String,
    language: Language,
    objections: Vec<Objection>,
}

/// Answers a ticket.
///
/// # Errors
///
/// When the action does not exist or the search fails.
pub fn answer<H: Host>(
    host: &H,
    configuration: &Configuration,
    request: Request<'_>,
) -> Result<Reply, Error> {
    let action = configuration
        .action(request.action)
        .ok_or_else(|| Error::UnknownAction(request.action.to_owned()))?;
    let own = clean(&window(request.text, MOST_READ));
    let language = language::german_or_english(&own);
    let objections = guard::ticket(request.text, MOST_READ);
    let call = Call { host, configuration, request, own, language, objections };
    match action.kind {
        ActionType::NoAction => Ok(call.none(&NoAnswer::Action)),
        ActionType::StaticAnswer => Ok(call.configured(action)),
        ActionType::AIAnswer => call.written(),
    }
}

impl<H: Host> Call<'_, H> {
    /// There is no answer, and that is said.
    fn none(&self, reason: &NoAnswer) -> Reply {
        Reply {
            response: wording::response(reason, self.language),
            documents: Vec::new(),
            auto_publish: false,
            outcome: Outcome::None,
            reason: Some(wording::reason(reason, self.configuration.floor, self.language)),
            score: None,
            language: self.detected(),
        }
    }

    /// The operator's own words need no guard and no reference; what the ticket holds may still need a clerk.
    fn configured(&self, action: &Action) -> Reply {
        let response = action.answer.clone().unwrap_or_else(|| PLACEHOLDER.to_owned());
        let record =
            Record { score: None, own_language: true, grounded: true, objections: self.objections.clone() };
        self.reply(response, Vec::new(), Outcome::Configured, &record)
    }

    fn written(&self) -> Result<Reply, Error> {
        if self.own.trim().is_empty() {
            return Ok(self.none(&NoAnswer::Empty));
        }
        let configuration = self.configuration;
        let text = window(&self.own, configuration.max_user_text_length as usize);
        let category = configuration.by_category.then_some(self.request.category);
        let found = match self.host.search(&text, configuration.limit, category) {
            Ok(found) => found,
            Err(SearchError::Unavailable(why)) => return Ok(self.none(&NoAnswer::Unavailable(why))),
            Err(SearchError::Failed(why)) => return Err(Error::Search(why)),
        };
        let (passages, own_language) = worth_reading(found, configuration.floor, self.language.code());
        if passages.is_empty() {
            return Ok(self.none(&NoAnswer::Nothing));
        }
        let bounds = Bounds {
            sentences: configuration.max_sentences as usize,
            characters: configuration.max_answer_length as usize,
        };
        let statements = extractive::write(&text, &passages, self.language, bounds);
        Ok(self.checked(statements, &passages, own_language))
    }

    /// What passages say of `statements`, with references.
    fn checked(&self, statements: Vec<Statement>, passages: &[Passage], own_language: bool) -> Reply {
        let written = statements.len();
        let is_grounded = |one: &Statement| {
            let passage = passages.get(one.passage);
            passage.is_some_and(|passage| grounding::check(&one.text, &passage.text, self.language).is_ok())
        };
        let grounded: Vec<Statement> = statements.into_iter().filter(is_grounded).collect();
        let (text, documents) = referenced(&grounded, passages);
        let Some(score) = documents.iter().map(|one| one.score).max_by(f32::total_cmp) else {
            return self.none(&NoAnswer::Ungrounded);
        };
        let mut objections = self.objections.clone();
        let longest = self.configuration.max_answer_length as usize;
        objections.extend(guard::answer(&plain(&grounded), longest, &self.configuration.office_contacts));
        // A ticket in a third language is answered in one of the two.
        let detected = language::detect(&self.own);
        let in_its_language = own_language && detected.is_none_or(|code| code == self.language.code());
        let grounded = grounded.len() == written;
        let record = Record { score: Some(score), own_language: in_its_language, grounded, objections };
        self.reply(self.framed(text, passages, own_language), documents, Outcome::Answered, &record)
    }

    fn framed(&self, text: String, passages: &[Passage], own_language: bool) -> String {
        let foreign = || wording::foreign(self.language, passages.first().and_then(Passage::language));
        let before = (!own_language).then(foreign);
        let parts = [before, Some(text), self.configuration.disclaimer.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    fn reply(&self, response: String, documents: Vec<Document>, outcome: Outcome, record: &Record) -> Reply {
        let against = hindrances(self.configuration, self.request.category, record);
        Reply {
            response,
            documents,
            auto_publish: against.is_empty(),
            outcome,
            reason: wording::unpublished(&against, self.request.category, self.language),
            score: record.score,
            language: self.detected(),
        }
    }

    fn detected(&self) -> Option<String> {
        language::detect(&self.own).map(str::to_owned)
    }
}

/// The sentences of an answer without its references.
fn plain(statements: &[Statement]) -> String {
    statements.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n")
}
