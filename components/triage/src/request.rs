//! When the request that a ticket is about was made, and its number.

mod dated;
mod relative;
#[cfg(test)]
mod tests;
mod vocabulary;

use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::extract::{Kind, find};
use bulkhead_ticket_text::sentences::sentences;

use crate::rules::Facts;

/// Bytes of the longest sentence in which a request is looked for: each of its clauses is held against all others.
const LONGEST_SENTENCE: usize = 1000;

/// What a ticket says of its request: `own` is what its writer wrote, `whole` the same with what they quote.
///
/// Days come from a date, or a span such as "vor drei Wochen", in a clause that says that a request was made; of several
/// requests the longest ago counts, and where only its month or so is told, there is no day. A number in a quote is the
/// quoted mail's; where there is nothing but a quote, and one number in it, that is what the ticket is about.
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
