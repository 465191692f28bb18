//! When the request that a ticket is about was made, and its number.

mod relative;
#[cfg(test)]
mod tests;

use std::ops::Range;

use bulkhead_ticket_text::extract::birth::is_birth;
use bulkhead_ticket_text::extract::date::{self, Date};
use bulkhead_ticket_text::extract::{Kind, find};
use bulkhead_ticket_text::sentences::{Tense, sentences, tense};

use crate::rules::conditions::Facts;

/// Words of a sentence that tells of a request.
const REQUEST: [&str; 30] = [
    "beantrag",
    "antrag",
    "eingereicht",
    "abgegeben",
    "abgeschickt",
    "gestellt",
    "gesendet",
    "geschickt",
    "eingesandt",
    "bestellt",
    "angemeldet",
    "anfrage",
    "unterlagen",
    "anschreiben",
    "bescheid",
    "warte",
    "applied",
    "application",
    "submitted",
    "handed in",
    "sent",
    "ordered",
    "request",
    "signed up",
    "registered",
    "waiting",
    "heard",
    "einspruch",
    "widerspruch",
    "bearbeit",
];

/// What a ticket says of its request: `own` is what its writer wrote, `whole` the same with what they quote.
///
/// Days come from a date, or a span such as "vor drei Wochen", in a sentence that tells of a request; of several the
/// longest ago counts. Dates in the future were never a request's, nor days of birth. A number in a quote is the quoted
/// mail's; where there is nothing but a quote, and one number in it, that is what the ticket is about.
pub fn facts(own: &str, whole: &str, today: Date) -> Facts {
    let days = sentences(own).flat_map(|part| days(own, part, today));
    let quoted = || match files(whole, today).as_slice() {
        [first, rest @ ..] if own.is_empty() && rest.iter().all(|other| other == first) => {
            Some(first.clone())
        }
        _ => None,
    };
    Facts {
        days_since_request: days.filter(|days| *days >= 0).max(),
        processing_id: files(own, today).into_iter().next().or_else(quoted),
    }
}

/// Days since all that the sentence at `part` of `text` dates, where it tells of a request.
fn days(text: &str, part: Range<usize>, today: Date) -> Vec<i64> {
    let sentence = text.get(part.clone()).unwrap_or_default();
    let lower = sentence.to_lowercase();
    if !REQUEST.iter().any(|word| lower.contains(word)) {
        return Vec::new();
    }
    let dates = date::find_where(sentence, today, Some(Tense::Past)).into_iter();
    // The point of "geb. 2.11.1951" may have ended the sentence before.
    let others =
        dates.filter(|(range, _)| !is_birth(text, &(part.start + range.start..part.start + range.end)));
    let has_been = tense(sentence).unwrap_or(Tense::Past) == Tense::Past;
    let dated = others.map(|(_, date)| (today - date).whole_days());
    dated.chain(relative::days(&lower, today, has_been)).collect()
}

fn files(text: &str, today: Date) -> Vec<String> {
    let found = find(text, today).into_iter().filter(|found| found.kind == Kind::FileNumber);
    found.map(|file| file.value).collect()
}
