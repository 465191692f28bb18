//! Mails that no one wrote: reports of undelivered mail, out-of-office notes, receipts and answers of calendars.

use super::begins;
use crate::{lists::automatic, pairs::contains_any};

/// Number of non-empty lines at the start of a mail that show what it is.
const START: usize = 3;
/// Maximum number of words of an out-of-office note.
const LONGEST_NOTE: usize = 120;
/// Number of characters before an absence within which a note says who is away.
const REACH: usize = 80;

/// Returns whether a program sent the mail with this plain text: a report of undelivered mail, an out-of-office note,
/// a receipt, or an answer of a calendar.
pub fn is_automatic(plain: &str) -> bool {
    let plain = &plain.replace('’', "'");
    let start = || plain.lines().filter(|line| !line.is_empty()).take(START);
    let answers = |line: &str| automatic::ANSWERS.iter().any(|phrase| begins(line, phrase));
    start().any(is_report)
        || (start().any(answers) && any_line(plain, automatic::DETAILS))
        || is_out_of_office(plain)
}

/// Returns whether a line is the first of a report, which asks nothing.
fn is_report(line: &str) -> bool {
    let is_form = |form: &&str| match form.split_once('…') {
        Some((start, end)) => begins(line, start) && line.to_lowercase().contains(end),
        None => begins(line, form),
    };
    !line.contains('?') && automatic::REPORTS.iter().any(is_form)
}

fn any_line(plain: &str, starts: &[&str]) -> bool {
    plain.lines().any(|line| starts.iter().any(|start| begins(line, start)))
}

/// Returns whether a text says that its sender is away, and what happens to mails meanwhile. Someone who asks is
/// there.
fn is_out_of_office(plain: &str) -> bool {
    if plain.contains('?') || plain.split_whitespace().nth(LONGEST_NOTE).is_some() {
        return false;
    }
    let lower = plain.to_lowercase();
    let has = |phrases: &[&str]| contains_any(&lower, phrases);
    is_away(&lower) && (has(automatic::MEANWHILE) || (has(automatic::THANKS) && has(automatic::RETURNS)))
}

/// Returns whether a text in lower case says that its sender is away, and not another person.
fn is_away(lower: &str) -> bool {
    let mut absences = automatic::ABSENCES.iter().flat_map(|absence| lower.match_indices(*absence));
    absences.any(|(at, absence)| {
        let until = lower.get(..at + absence.len()).unwrap_or_default();
        let start = until.char_indices().rev().nth(REACH).map_or(0, |(start, _)| start);
        contains_any(until.get(start..).unwrap_or_default(), automatic::AWAY)
    })
}
