//! Finds when the request that a ticket is about was made, and its number.

mod dated;
mod relative;
#[cfg(test)]
mod tests;

use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::extract::{Kind, find};
use bulkhead_ticket_text::sentences::sentences;

use crate::rules::Facts;

/// Maximum number of bytes of a sentence searched for a request: the work is quadratic in its clauses.
const LONGEST_SENTENCE: usize = 1000;

/// Returns the facts that a ticket states about its request: `own` is what its sender wrote, `whole` the same with
/// quoted mails.
///
/// Days come from a date, or a span such as "vor drei Wochen", in a clause that states that a request was made; of
/// several requests the oldest counts, and if only its month or the like is known, there is no day. A number in a
/// quote belongs to the quoted mail; if the ticket is only a quote with a single number, that number counts.
pub fn facts(own: &str, whole: &str, today: Date) -> Facts {
    let days = sentences(own)
        .filter(|part| part.len() <= LONGEST_SENTENCE)
        .flat_map(|part| dated::days(own, part, today));
    let quoted = || match files(whole, today).as_slice() {
        [first, rest @ ..] if own.is_empty() && rest.iter().all(|other| other == first) => {
            Some(first.clone())
        }
        _ => None,
    };
    Facts {
        days_since_request: days.max().filter(|ago| !ago.roughly).map(|ago| ago.days),
        processing_id: files(own, today).into_iter().next().or_else(quoted),
    }
}

fn files(text: &str, today: Date) -> Vec<String> {
    let found = find(text, today).into_iter().filter(|found| found.kind == Kind::FileNumber);
    found.map(|file| file.value).collect()
}
