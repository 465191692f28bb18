//! A ticket's way to its answer.

mod draft;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use bulkhead_ticket_text::clean::clean;
use bulkhead_ticket_text::guarding::{Guarding, Judged, Verdict, found};
use bulkhead_ticket_text::language::{self, Language};
use bulkhead_ticket_text::llm::Question;
use bulkhead_ticket_text::redact::{Redacted, redact};
use bulkhead_ticket_text::window::window;

use crate::configuration::{Action, ActionType, Configuration};
use crate::guard::{self, Objection};
use crate::passage::{Passage, worth_reading};
use crate::publication::{Record, hindrances};
use crate::references::{Document, referenced};
use crate::statement::Grounded;
use crate::wording::{self, NoAnswer, PLACEHOLDER};
use draft::Draft;

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

    /// What the language model answers to a question.
    ///
    /// # Errors
    ///
    /// With the reason why it does not.
    fn ask(&self, question: &Question) -> Result<String, String>;

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

/// A ticket that is being answered.
struct Call<'a, H> {
    host: &'a H,
    configuration: &'a Configuration,
    policy: Policy,
    request: Request<'a>,
    /// What its writer wrote.
    own: String,
    /// As much of it as is searched for and shown to other machines.
    text: String,
    /// The same for machines outside, which personal data is kept from.
    redacted: OnceCell<Redacted>,
    language: Language,
    objections: Vec<Objection>,
    /// What the guard says of the ticket.
    verdict: Verdict,
}

/// Answers a ticket. Whatever a language model writes, only what passages say is answered, and only the configuration
/// publishes it.
///
/// # Errors
///
/// When the action does not exist, the search fails, or a guard's objection is to be followed so.
pub fn answer<H: Host>(
    host: &H,
    configuration: &Configuration,
    policy: Policy,
    request: Request<'_>,
) -> Result<Reply, Error> {
    let action = configuration
        .action(request.action)
        .ok_or_else(|| Error::UnknownAction(request.action.to_owned()))?;
    let mut call = Call::new(host, configuration, policy, request);
    match action.kind {
        ActionType::NoAction => Ok(call.none(&NoAnswer::Action)),
        ActionType::StaticAnswer => {
            call.verdict = call.judged(None)?;
            Ok(call.configured(action))
        }
        ActionType::AIAnswer if call.own.trim().is_empty() => Ok(call.none(&NoAnswer::Empty)),
        ActionType::AIAnswer => {
            call.verdict = call.judged(None)?;
            call.written()
        }
    }
}

impl<'a, H: Host> Call<'a, H> {
    fn new(host: &'a H, configuration: &'a Configuration, policy: Policy, request: Request<'a>) -> Self {
        let own = clean(&window(request.text, MOST_READ));
        Self {
            text: window(&own, configuration.max_user_text_length as usize),
            language: language::german_or_english(&own),
            objections: guard::ticket(request.text, MOST_READ),
            redacted: OnceCell::new(),
            verdict: Verdict::Unguarded,
            host,
            configuration,
            policy,
            request,
            own,
        }
    }

    fn redacted(&self) -> &Redacted {
        self.redacted.get_or_init(|| redact(&self.text))
    }

    /// What the guard says of the ticket, or of the answer to it.
    fn judged(&self, answer: Option<&str>) -> Result<Verdict, Error> {
        if self.policy.guarding == Guarding::Off {
            return Ok(Verdict::Unguarded);
        }
        let judged = answer.map_or(Judged::Message, |_| Judged::Answer);
        match (self.host.guard(self.redacted().text(), answer), self.policy.guarding) {
            (Verdict::Unsafe(labels), Guarding::Refuse) => Err(Error::Unsafe(judged, labels)),
            (verdict, _) => Ok(verdict),
        }
    }

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

    /// The operator's own words need no reference; what the ticket holds may still need a clerk.
    fn configured(&self, action: &Action) -> Reply {
        let response = action.answer.clone().unwrap_or_else(|| PLACEHOLDER.to_owned());
        let record = Record { score: None, own_language: true, grounded: true, objections: self.objected() };
        self.reply(response, Vec::new(), Outcome::Configured, &record)
    }

    fn written(&self) -> Result<Reply, Error> {
        let configuration = self.configuration;
        let category = configuration.by_category.then_some(self.request.category);
        let found = match self.host.search(&self.text, configuration.limit, category) {
            Ok(found) => found,
            Err(SearchError::Unavailable(why)) => return Ok(self.none(&NoAnswer::Unavailable(why))),
            Err(SearchError::Failed(why)) => return Err(Error::Search(why)),
        };
        let (passages, own_language) = worth_reading(found, configuration.floor, self.language.code());
        if passages.is_empty() {
            return Ok(self.none(&NoAnswer::Nothing));
        }
        let draft = self.draft(&passages, own_language);
        let failed = draft.failed.as_ref().map(|reason| wording::fallen_back(reason, self.language));
        let reply = self.checked(draft, &passages, own_language)?;
        let told = [failed, reply.reason].into_iter().flatten().collect::<Vec<_>>();
        Ok(Reply { reason: (!told.is_empty()).then(|| told.join(" ")), ..reply })
    }

    /// A draft with references, and whether it may be published.
    fn checked(&self, draft: Draft, passages: &[Passage], own_language: bool) -> Result<Reply, Error> {
        if draft.written == 0 {
            return Ok(self.none(&NoAnswer::Unanswered));
        }
        let (text, documents) = referenced(&draft.sentences, passages);
        let score = documents.iter().map(|one| one.score).max_by(f32::total_cmp);
        let Some(score) = score.filter(|_| !draft.is_torn()) else {
            return Ok(self.none(&NoAnswer::Ungrounded));
        };
        let plain = plain(&draft.sentences);
        let longest = self.configuration.max_answer_length as usize;
        let grounded = draft.sentences.len() == draft.written;
        let mut objections = self.objected();
        objections.extend(draft.objections);
        for objection in guard::answer(&plain, longest, &self.configuration.office_contacts) {
            if !objections.contains(&objection) {
                objections.push(objection);
            }
        }
        // Where the ticket is not published anyway, nothing depends on a second verdict.
        if self.verdict.publishes() {
            objections.extend(Objection::of(Judged::Answer, self.judged(Some(&plain))?));
        }
        // A ticket in a third language is answered in one of the two.
        let detected = language::detect(&self.own);
        let in_its_language = own_language && detected.is_none_or(|code| code == self.language.code());
        let record = Record { score: Some(score), own_language: in_its_language, grounded, objections };
        Ok(self.reply(self.framed(text, passages, own_language), documents, Outcome::Answered, &record))
    }

    /// What stands in the ticket against publishing an answer to it.
    fn objected(&self) -> Vec<Objection> {
        let guard = Objection::of(Judged::Message, self.verdict.clone());
        self.objections.iter().cloned().chain(guard).collect()
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
fn plain(statements: &[Grounded]) -> String {
    statements.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n")
}
