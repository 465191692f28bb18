//! One ticket with its derived texts, and the replies that need no search.

use std::cell::OnceCell;

use bulkhead_answer_configuration::{Action, Configuration};
use bulkhead_text::clean;
use bulkhead_text::language::{self, Language};
use bulkhead_text::window::window;
use bulkhead_text::words::has_words;
use bulkhead_ticket_text::guarding::{Guarding, Judged, Verdict};
use bulkhead_ticket_text::redact::{Redacted, redact_part};
use bulkhead_ticket_text::sentences::sentences;

use super::{Error, Host, Outcome, Policy, Reply, Request};
use crate::guard::{self, GuardFinding};
use crate::publication::{Record, publish_blockers};
use crate::quotable::is_question;
use crate::references::Document;
use crate::wording::{self, NoAnswer, PLACEHOLDER};

/// Maximum number of characters read of a ticket, at its head and tail: ten pages.
const MOST_READ: usize = 20_000;
/// Maximum number of sentences of a ticket that are searched for.
const MOST_SENTENCES: usize = 16;
/// An answer in several languages must have at least one in this many of its characters in each.
const LEAST_PART: usize = 4;

/// A ticket that is being answered.
pub(super) struct Call<'a, H> {
    pub(super) host: &'a H,
    pub(super) configuration: &'a Configuration,
    pub(super) policy: Policy,
    pub(super) request: Request<'a>,
    /// The text that the sender wrote, without quotes and signatures.
    own: String,
    /// The whole text as a reader sees it.
    plain: String,
    /// The part of it that is used as search query and shown to models.
    pub(super) text: String,
    /// The same without personal data, for external models.
    redacted: OnceCell<Redacted>,
    pub(super) language: Language,
    /// ISO 639 code of the detected language, which may be neither German nor English.
    pub(super) detected: Option<&'static str>,
    pub(super) findings: Vec<GuardFinding>,
    /// The guard's verdict on the ticket.
    pub(super) verdict: Verdict,
}

impl<'a, H: Host> Call<'a, H> {
    /// Reads a ticket.
    pub(super) fn new(
        host: &'a H,
        configuration: &'a Configuration,
        policy: Policy,
        request: Request<'a>,
    ) -> Self {
        // Cut first, so that a ticket of any length costs no more time than one of this many characters.
        let read = window(request.text.trim(), MOST_READ);
        let rendered = clean::render(&read);
        let own = clean::own(&rendered.plain);
        let detected = language::detect(&own);
        let is_cut = request.text.trim().chars().nth(MOST_READ).is_some();
        Self {
            text: window(&own, configuration.max_user_text_length as usize),
            language: language::answered_in(&own, detected),
            detected,
            findings: guard::ticket(&read, &rendered, is_cut),
            redacted: OnceCell::new(),
            verdict: Verdict::Unguarded,
            host,
            configuration,
            policy,
            request,
            plain: rendered.plain,
            own,
        }
    }

    /// Returns the ticket without personal data. Its salutation and signature tell which names to redact.
    pub(super) fn redacted(&self) -> &Redacted {
        self.redacted.get_or_init(|| redact_part(&self.text, &clean::unquoted(&self.plain)))
    }

    /// Returns whether the ticket is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.own.trim().is_empty()
    }

    /// Returns whether the ticket has words.
    pub(super) fn has_words(&self) -> bool {
        has_words(&self.own)
    }

    /// Returns what is searched for: the ticket as a whole, then those of its sentences that ask, or all if none asks.
    pub(super) fn texts(&self) -> Vec<String> {
        let parts = sentences(&self.text).filter_map(|place| self.text.get(place)).map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| has_words(part)).collect();
        let asking: Vec<&str> = parts.iter().copied().filter(|part| is_question(part)).collect();
        let parts = if asking.is_empty() { parts } else { asking };
        let parts = parts.into_iter().filter(|part| *part != self.text.trim()).take(MOST_SENTENCES);
        [self.text.as_str()].into_iter().chain(parts).map(str::to_owned).collect()
    }

    /// Asks the guard for its verdict on the ticket.
    pub(super) fn judge(&mut self) -> Result<(), Error> {
        self.verdict = self.judged(None)?;
        Ok(())
    }

    /// Returns the guard's verdict on the ticket, or on the answer to it.
    pub(super) fn judged(&self, answer: Option<&str>) -> Result<Verdict, Error> {
        if self.policy.guarding == Guarding::Off {
            return Ok(Verdict::Unguarded);
        }
        let judged = answer.map_or(Judged::Message, |_| Judged::Answer);
        match (self.host.guard(self.redacted().text(), answer), self.policy.guarding) {
            (Verdict::Unsafe(labels), Guarding::Refuse) => Err(Error::Unsafe(judged, labels)),
            (verdict, _) => Ok(verdict),
        }
    }

    /// Returns a reply without an answer, with the reason.
    pub(super) fn none(&self, reason: &NoAnswer) -> Reply {
        Reply {
            response: wording::response(reason, self.language).to_owned(),
            documents: Vec::new(),
            auto_publish: false,
            outcome: Outcome::None,
            reason: Some(wording::reason(reason, self.configuration.floor, self.language)),
            score: None,
            language: self.detected.map(str::to_owned),
        }
    }

    /// Returns the configured answer. It needs no reference, but the ticket may still need a clerk.
    pub(super) fn configured(&self, action: &Action) -> Reply {
        let response = action.answer.clone().unwrap_or_else(|| PLACEHOLDER.to_owned());
        let record = Record {
            certainty: None,
            known_language: self.is_in_known_language(),
            own_language: is_in(&response, self.language),
            grounded: true,
            findings: self.ticket_findings(),
        };
        self.reply(response, Vec::new(), Outcome::Configured, &record)
    }

    /// Returns whether the ticket is in the language of the answer. A ticket in a third or unknown language gets a
    /// German or English answer all the same.
    pub(super) fn is_in_known_language(&self) -> bool {
        self.detected == Some(self.language.code())
    }

    /// Returns the findings in the ticket that block publication.
    pub(super) fn ticket_findings(&self) -> Vec<GuardFinding> {
        let guard = GuardFinding::of(Judged::Message, self.verdict.clone());
        self.findings.iter().cloned().chain(guard).collect()
    }

    /// Returns a reply with `response`, and the reason if it is not published.
    pub(super) fn reply(
        &self,
        response: String,
        documents: Vec<Document>,
        outcome: Outcome,
        record: &Record,
    ) -> Reply {
        let against = publish_blockers(self.configuration, self.request.category, record);
        Reply {
            response,
            documents,
            auto_publish: against.is_empty(),
            outcome,
            reason: wording::unpublished(&against, self.request.category, self.language),
            score: record.certainty.map(|certainty| certainty.relevance),
            language: self.detected.map(str::to_owned),
        }
    }
}

/// Returns whether `text` is in `language`, as far as it can be detected; a text that says the same in several
/// languages is in each. Parts without a detectable language, such as web addresses, do not count.
pub(super) fn is_in(text: &str, language: Language) -> bool {
    if language::detect(text).is_none_or(|code| code == language.code()) {
        return true;
    }
    let sentences = sentences(text).filter_map(|place| text.get(place));
    let parts = sentences.flat_map(|sentence| sentence.split(" / "));
    let detected = parts.filter_map(|part| language::detect(part).map(|code| (code, part.len())));
    let (mut own, mut all) = (0, 0);
    for (code, length) in detected {
        all += length;
        own += if code == language.code() { length } else { 0 };
    }
    own > 0 && own * LEAST_PART >= all
}
