//! One ticket, from its text to its reply.

use std::cell::OnceCell;

use bulkhead_answer_configuration::{Action, Configuration};
use bulkhead_ticket_text::clean;
use bulkhead_ticket_text::guarding::{Guarding, Judged, Verdict};
use bulkhead_ticket_text::language::{self, Language};
use bulkhead_ticket_text::redact::{Redacted, redact_part};
use bulkhead_ticket_text::sentences::sentences;
use bulkhead_ticket_text::window::window;
use bulkhead_ticket_text::words::has_words;

use super::{Error, Host, Outcome, Policy, Reply, Request};
use crate::guard::{self, Objection};
use crate::publication::{Record, hindrances};
use crate::references::Document;
use crate::wording::{self, NoAnswer, PLACEHOLDER};

/// Characters of a ticket that are read, at its head and at its tail: ten pages.
const MOST_READ: usize = 20_000;
/// An answer in several languages has at least one in this many of its characters in each.
const LEAST_PART: usize = 4;

/// A ticket that is being answered.
pub(super) struct Call<'a, H> {
    pub(super) host: &'a H,
    pub(super) configuration: &'a Configuration,
    pub(super) policy: Policy,
    pub(super) request: Request<'a>,
    /// What its writer wrote.
    own: String,
    /// All of it as its reader sees it.
    plain: String,
    /// As much of it as is searched for and shown to other machines.
    pub(super) text: String,
    /// The same for machines outside, which personal data is kept from.
    redacted: OnceCell<Redacted>,
    pub(super) language: Language,
    /// ISO 639 code of the language that it is written in, which may be a third one.
    pub(super) detected: Option<&'static str>,
    pub(super) objections: Vec<Objection>,
    /// What the guard says of the ticket.
    pub(super) verdict: Verdict,
}

impl<'a, H: Host> Call<'a, H> {
    /// A ticket as it is read.
    pub(super) fn new(
        host: &'a H,
        configuration: &'a Configuration,
        policy: Policy,
        request: Request<'a>,
    ) -> Self {
        // Before anything else looks at it: whatever its length, a ticket takes no longer than one of this many
        // characters.
        let read = window(request.text.trim(), MOST_READ);
        let rendered = clean::render(&read);
        let own = clean::own(&rendered.plain);
        let is_cut = request.text.trim().chars().nth(MOST_READ).is_some();
        Self {
            text: window(&own, configuration.max_user_text_length as usize),
            language: language::german_or_english(&own),
            detected: language::detect(&own),
            objections: guard::ticket(&read, &rendered, is_cut),
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

    /// The ticket without personal data. Its salutation and signature, which name people, tell who is meant.
    pub(super) fn redacted(&self) -> &Redacted {
        self.redacted.get_or_init(|| redact_part(&self.text, &clean::unquoted(&self.plain)))
    }

    /// Whether there is nothing to read.
    pub(super) fn is_empty(&self) -> bool {
        self.own.trim().is_empty()
    }

    /// Whether there is anything that could be asked.
    pub(super) fn has_words(&self) -> bool {
        has_words(&self.own)
    }

    /// Lets the guard judge the ticket.
    pub(super) fn judge(&mut self) -> Result<(), Error> {
        self.verdict = self.judged(None)?;
        Ok(())
    }

    /// What the guard says of the ticket, or of the answer to it.
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

    /// There is no answer, and that is said.
    pub(super) fn none(&self, reason: &NoAnswer) -> Reply {
        Reply {
            response: wording::response(reason, self.language),
            documents: Vec::new(),
            auto_publish: false,
            outcome: Outcome::None,
            reason: Some(wording::reason(reason, self.configuration.floor, self.language)),
            score: None,
            language: self.detected.map(str::to_owned),
        }
    }

    /// The operator's own words need no reference; what the ticket holds may still need a clerk.
    pub(super) fn configured(&self, action: &Action) -> Reply {
        let response = action.answer.clone().unwrap_or_else(|| PLACEHOLDER.to_owned());
        let record = Record {
            score: None,
            known_language: self.is_in_known_language(),
            own_language: is_in(&response, self.language),
            grounded: true,
            objections: self.objected(),
        };
        self.reply(response, Vec::new(), Outcome::Configured, &record)
    }

    /// Whether the ticket is in the language that it is answered in: one in a third language, or in none that can be
    /// told, is answered in one of the two all the same.
    pub(super) fn is_in_known_language(&self) -> bool {
        self.detected == Some(self.language.code())
    }

    /// What stands in the ticket against publishing an answer to it.
    pub(super) fn objected(&self) -> Vec<Objection> {
        let guard = Objection::of(Judged::Message, self.verdict.clone());
        self.objections.iter().cloned().chain(guard).collect()
    }

    /// A reply with these words, and why it is not published if it is not.
    pub(super) fn reply(
        &self,
        response: String,
        documents: Vec<Document>,
        outcome: Outcome,
        record: &Record,
    ) -> Reply {
        let against = hindrances(self.configuration, self.request.category, record);
        Reply {
            response,
            documents,
            auto_publish: against.is_empty(),
            outcome,
            reason: wording::unpublished(&against, self.request.category, self.language),
            score: record.score,
            language: self.detected.map(str::to_owned),
        }
    }
}

/// Whether `text` is in `language`, as far as can be told; one that says the same in several is in each. Parts whose
/// language cannot be told, such as an address of a page, are in none.
pub(super) fn is_in(text: &str, language: Language) -> bool {
    if language::detect(text).is_none_or(|code| code == language.code()) {
        return true;
    }
    let sentences = sentences(text).filter_map(|place| text.get(place));
    let parts = sentences.flat_map(|sentence| sentence.split(" / "));
    let told = parts.filter_map(|part| language::detect(part).map(|code| (code, part.len())));
    let (mut own, mut all) = (0, 0);
    for (code, length) in told {
        all += length;
        own += if code == language.code() { length } else { 0 };
    }
    own > 0 && own * LEAST_PART >= all
}
