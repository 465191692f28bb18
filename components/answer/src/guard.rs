//! Checks of tickets, passages and answers that block publication. A draft is still written, for a clerk.

mod personal;
#[cfg(test)]
mod tests;

use bulkhead_text::clean::Rendered;
use bulkhead_ticket_text::extract::Kind;
use bulkhead_ticket_text::guarding::{Judged, Verdict};
use bulkhead_ticket_text::injection;

use crate::passage::Passage;
use crate::signs::Doubt;

pub use bulkhead_ticket_text::injection::prompt as injection_patterns;

/// A finding that only a clerk may override.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardFinding {
    /// The ticket holds a prompt injection.
    TicketInjection,
    /// The ticket is too long to be read completely.
    TicketLength,
    /// The answer holds a prompt injection.
    AnswerInjection,
    /// The answer holds personal data of this kind.
    PersonalData(Kind),
    /// The answer names a private address.
    PrivateAddress,
    /// A sentence of the answer holds only under its heading.
    Heading,
    /// A passage has an exception to a sentence of the answer, or another figure for the same thing.
    Qualified,
    /// The answer lacks the amount, time, place or the like that the question asks for.
    Unanswered,
    /// A sign that the answer is not the one that is asked for.
    Uncertain(Doubt),
    /// The ticket names these towns, offices or years, and the cited pages do not.
    OtherPlace(Vec<String>),
    /// The answer is too long.
    AnswerLength,
    /// A sentence paraphrases its passage, which may change the meaning.
    OtherWords,
    /// A passage shown to the language model holds a prompt injection.
    PassageInjection,
    /// The host's guard calls the text unsafe or is unavailable.
    Guardrail(Judged, Verdict),
}

impl GuardFinding {
    /// Returns the finding of a guard's verdict, if it blocks publication.
    pub fn of(judged: Judged, verdict: Verdict) -> Option<Self> {
        (!verdict.publishes()).then_some(Self::Guardrail(judged, verdict))
    }
}

/// Checks a ticket: the part of its `source` that is read, its rendered text, and whether it `is_cut`.
pub fn ticket(source: &str, rendered: &Rendered, is_cut: bool) -> Vec<GuardFinding> {
    let injected = injection::is_injected_ticket(source, rendered);
    let found = [(injected, GuardFinding::TicketInjection), (is_cut, GuardFinding::TicketLength)];
    found.into_iter().filter_map(|(is_so, finding)| is_so.then_some(finding)).collect()
}

/// Checks the passages shown to the language model.
pub fn passages(passages: &[Passage]) -> Option<GuardFinding> {
    let injected = passages.iter().any(|passage| injection::is_injected(&passage.text));
    injected.then_some(GuardFinding::PassageInjection)
}

/// Checks an answer. `office` lists contacts that are not personal data.
pub fn answer(text: &str, longest: usize, office: &[String]) -> Vec<GuardFinding> {
    let injected = injection::is_injected(text).then_some(GuardFinding::AnswerInjection);
    let long = text.chars().nth(longest).map(|_| GuardFinding::AnswerLength);
    let personal = personal::kinds(text, office).into_iter().map(GuardFinding::PersonalData);
    let home = personal::has_home(text, office).then_some(GuardFinding::PrivateAddress);
    injected.into_iter().chain(long).chain(personal).chain(home).collect()
}
