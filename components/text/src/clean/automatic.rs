//! Mails that no one wrote: reports of undelivered mail, out-of-office notes, receipts, acknowledgements and answers of
//! calendars.

use super::begins;
use crate::{lists::automatic, pairs::contains_any};

/// Number of non-empty lines at the start of a mail that show what it is.
const START: usize = 3;
/// Maximum number of words of an out-of-office note, and of an acknowledgement.
const LONGEST_NOTE: usize = 120;
/// Number of characters before an absence within which a note says who is away.
const REACH: usize = 80;

/// Returns whether a program sent the mail with this plain text, of which `own` is what its sender wrote.
pub(super) fn is_automatic(plain: &str, own: &str) -> bool {
    let plain = &plain.replace('’', "'");
    let start = || plain.lines().filter(|line| !line.is_empty()).take(START);
    let answers = |line: &str| automatic::ANSWERS.iter().any(|phrase| begins(line, phrase));
    start().any(is_report)
        || (start().any(answers) && plain.lines().any(|line| any_begins(line, automatic::DETAILS)))
        || is_note(own)
}

/// Returns whether a line is the first of a report, which asks nothing.
fn is_report(line: &str) -> bool {
    !line.contains('?') && any_begins(line, automatic::REPORTS)
}

/// Returns whether a line begins with one of the `forms`; the end of one with a `…` is anywhere behind.
fn any_begins(line: &str, forms: &[&str]) -> bool {
    forms.iter().any(|form| match form.split_once('…') {
        Some((start, end)) => begins(line, start) && line.to_lowercase().contains(end),
        None => begins(line, form),
    })
}

/// Returns whether a text is an out-of-office note or an acknowledgement. Someone who asks is there.
fn is_note(plain: &str) -> bool {
    if plain.contains('?') || plain.split_whitespace().nth(LONGEST_NOTE).is_some() {
        return false;
    }
    let lower = plain.to_lowercase().replace('’', "'");
    is_out_of_office(&lower) || is_acknowledgement(&lower)
}

/// Returns whether a text in lower case says that its sender is away, and what happens to mails meanwhile.
fn is_out_of_office(lower: &str) -> bool {
    let has = |phrases: &[&str]| contains_any(lower, phrases);
    let thanks = has(automatic::THANKS) && has(automatic::RETURNS);
    is_away(lower, automatic::ABSENCES) && (has(automatic::MEANWHILE) || thanks)
        || thanks && is_away(lower, automatic::UNREACHABLE)
}

/// Returns whether a text in lower case says that a mail has arrived and that a program says so. Of a mail that a program
/// made of a form, a person is the author.
fn is_acknowledgement(lower: &str) -> bool {
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    contains_any(lower, automatic::ARRIVED)
        && contains_any(lower, automatic::PROGRAMS)
        && !words.any(|word| automatic::PERSONS.contains(&word))
}

/// Returns whether a text in lower case says that its sender is away, in the words of `absences`, and not another person.
fn is_away(lower: &str, absences: &[&str]) -> bool {
    let mut absences = absences.iter().flat_map(|absence| lower.match_indices(*absence));
    absences.any(|(at, absence)| {
        let until = lower.get(..at + absence.len()).unwrap_or_default();
        let start = until.char_indices().rev().nth(REACH).map_or(0, |(start, _)| start);
        contains_any(until.get(start..).unwrap_or_default(), automatic::AWAY)
    })
}
