//! Mails that no one wrote: reports of undelivered mail, out-of-office notes, receipts and answers of calendars.

use super::begins;
use crate::{lists::automatic, pairs::contains_any};

/// Number of non-empty lines at the start of a mail that show what it is.
const START: usize = 3;
/// Maximum number of words of an out-of-office note.
const LONGEST_NOTE: usize = 120;

/// Returns whether a program sent the mail with this plain text: a report of undelivered mail, an out-of-office note,
/// a receipt, or an answer of a calendar.
pub fn is_automatic(plain: &str) -> bool {
    let start = || plain.lines().filter(|line| !line.is_empty()).take(START);
    let starts = |phrases: &[&str]| start().any(|line| phrases.iter().any(|phrase| begins(line, phrase)));
    starts(automatic::REPORTS)
        || (starts(automatic::ANSWERS) && any_line(plain, automatic::DETAILS))
        || is_out_of_office(plain)
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
    has(automatic::ABSENCES)
        && (has(automatic::MEANWHILE) || (has(automatic::THANKS) && has(automatic::RETURNS)))
}
