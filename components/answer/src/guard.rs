//! What stands against publishing an answer, seen in the ticket and in the answer itself. A draft is written all the
//! same: a clerk reads it.

mod personal;
#[cfg(test)]
mod tests;

use bulkhead_ticket_text::clean::Rendered;
use bulkhead_ticket_text::extract::Kind;
use bulkhead_ticket_text::guarding::{Judged, Verdict};
use bulkhead_ticket_text::injection;

use crate::passage::Passage;

pub use bulkhead_ticket_text::injection::prompt as injection_patterns;

/// Something that only a clerk may pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// The ticket speaks to a machine.
    TicketInjection,
    /// The ticket is too long to be read whole.
    TicketLength,
    /// The answer speaks to a machine.
    AnswerInjection,
    /// The answer has personal data of this kind.
    PersonalData(Kind),
    /// The answer says where somebody lives.
    PrivateAddress,
    /// A sentence of the answer holds only under its heading.
    Heading,
    /// A passage has an exception to a sentence of the answer, or another figure for the same.
    Qualified,
    /// The answer has no amount, time, place or the like where that is asked for.
    Unanswered,
    /// The answer is too long.
    AnswerLength,
    /// A sentence says it otherwise than its passage, which may make it another thing.
    OtherWords,
    /// A passage that a language model was shown speaks to a machine.
    PassageInjection,
    /// The host's guard calls the text unsafe, or cannot be asked.
    Guardrail(Judged, Verdict),
}

impl Objection {
    /// What stands against publishing in a verdict.
    pub fn of(judged: Judged, verdict: Verdict) -> Option<Self> {
        (!verdict.publishes()).then_some(Self::Guardrail(judged, verdict))
    }
}

/// What stands in a ticket: in what is read of its `source`, in that as its reader sees it, and in its length, where it
/// `is_cut`.
pub fn ticket(source: &str, rendered: &Rendered, is_cut: bool) -> Vec<Objection> {
    let injected = injection::is_injected_ticket(source, rendered);
    let found = [(injected, Objection::TicketInjection), (is_cut, Objection::TicketLength)];
    found.into_iter().filter_map(|(is_so, objection)| is_so.then_some(objection)).collect()
}

/// What stands in the passages that a language model is shown.
pub fn passages(passages: &[Passage]) -> Option<Objection> {
    let injected = passages.iter().any(|passage| injection::is_injected(&passage.text));
    injected.then_some(Objection::PassageInjection)
}

/// What stands in an answer. `office` are contacts that are nobody's personal data.
pub fn answer(text: &str, longest: usize, office: &[String]) -> Vec<Objection> {
    let injected = injection::is_injected(text).then_some(Objection::AnswerInjection);
    let long = text.chars().nth(longest).map(|_| Objection::AnswerLength);
    let personal = personal::kinds(text, office).into_iter().map(Objection::PersonalData);
    let home = personal::has_home(text, office).then_some(Objection::PrivateAddress);
    injected.into_iter().chain(long).chain(personal).chain(home).collect()
}
