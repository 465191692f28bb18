//! Finds when the request that a ticket is about was made, and its number.

mod dated;
mod relative;
#[cfg(test)]
mod tests;

use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::extract::{Found, Kind, find};
use bulkhead_ticket_text::sentences::sentences;

use crate::rules::Facts;

/// Maximum number of bytes of a sentence searched for a request: the work is quadratic in its clauses.
const LONGEST_SENTENCE: usize = 1000;

/// Returns the facts that a ticket states about its request: `own` is what its sender wrote, `whole` the same with
/// quoted mails, and `values` what [`find`] finds in `own`.
///
/// Days come from a date, or a span such as "vor drei Wochen", in a clause that states that a request was made; of
/// several requests the oldest counts, and if only its month or the like is known, there is no day. A number in a
/// quote belongs to the quoted mail; if the ticket is only a quote with a single number, that number counts.
pub fn facts(own: &str, whole: &str, values: &[Found], today: Date) -> Facts {
    let days = sentences(own)
        .filter(|part| part.len() <= LONGEST_SENTENCE)
        .flat_map(|part| dated::days(own, part, today));
    let quoted = || {
        let values = if own.is_empty() { find(whole, today) } else { Vec::new() };
        let mut files = files(&values);
        files.next().filter(|first| files.all(|other| other == *first)).map(str::to_owned)
    };
    Facts {
        days_since_request: days.max().filter(|ago| !ago.roughly).map(|ago| ago.days),
        processing_id: files(values).next().map(str::to_owned).or_else(quoted),
    }
}

fn files(values: &[Found]) -> impl Iterator<Item = &str> {
    values.iter().filter(|found| found.kind == Kind::FileNumber).map(|file| file.value.as_str())
}
