//! Ticket and file numbers: the numbers after words that announce one.

mod register;

use super::Reading;
use crate::cursor::{Cursor, scan};
use crate::lists::files;

/// Parts that may follow a file word.
const FILE_PARTS: [Part; 3] = [points, counter, space];
/// Separators of a word and its counter: "Vorgangs-Nr.".
const JOINTS: [&str; 3] = [" ", "-", "s-"];
/// Parts that may follow the word "ticket".
const TICKET_PARTS: [Part; 6] = [
    |cursor| any_word(cursor, &["nummer", " number"]),
    short_counter,
    space,
    |cursor| cursor.skip_any(&["#", ":"]),
    space,
    |cursor| cursor.skip("#"),
];
/// Minimum number of digits of a number.
const LEAST_DIGITS: usize = 3;

/// Advances over an optional part; returns whether it was there.
type Part = fn(&mut Cursor<'_>) -> bool;

/// Parses a number.
type Form = fn(&mut Cursor<'_>) -> Option<Reading>;

/// Returns the ticket numbers in `text`.
pub(super) fn find_tickets(text: &str) -> Vec<Reading> {
    find(text, |cursor| {
        if cursor.skip("[#") {
            return number(cursor);
        }
        cursor.skip_word("ticket").then(|| after(cursor, &TICKET_PARTS, number)).flatten()
    })
}

/// Returns the file numbers in `text`.
pub(super) fn find_files(text: &str) -> Vec<Reading> {
    let mut found = find(text, |cursor| {
        files::WORDS.iter().find_map(|word| {
            cursor.attempt(|ahead| {
                ahead.skip_word(word).then(|| after(ahead, &FILE_PARTS, file_number)).flatten()
            })
        })
    });
    let lower = text.to_lowercase();
    if !files::COUNTED.iter().any(|word| lower.contains(word)) {
        return found;
    }
    let filed = scan(text, |cursor| {
        files::FILED.iter().find_map(|word| {
            cursor.attempt(|ahead| {
                ahead.skip_word(word).then_some(())?;
                ahead.skip_any(&JOINTS);
                any_word(ahead, files::COUNTED).then(|| after(ahead, &FILE_PARTS, file_number)).flatten()
            })
        })
    });
    found.extend(filed.map(|(_, read)| read).filter(|(_, number)| has_digits(number)));
    found
}

/// Returns what `form` parses after whole words, if it has enough digits.
fn find<'t>(text: &'t str, form: impl Fn(&mut Cursor<'t>) -> Option<Reading>) -> Vec<Reading> {
    if !has_digits(text) {
        return Vec::new();
    }
    let announced = scan(text, |cursor| {
        let within = cursor.before().is_some_and(char::is_alphanumeric);
        if within { None } else { form(cursor) }
    });
    announced.map(|(_, read)| read).filter(|(_, number)| has_digits(number)).collect()
}

fn has_digits(number: &str) -> bool {
    number.bytes().filter(u8::is_ascii_digit).nth(LEAST_DIGITS - 1).is_some()
}

/// Returns what `form` parses after as many of `parts` as possible.
fn after(cursor: &mut Cursor<'_>, parts: &[Part], form: Form) -> Option<Reading> {
    let Some((part, parts)) = parts.split_first() else { return form(cursor) };
    let with = cursor.attempt(|ahead| part(ahead).then(|| after(ahead, parts, form)).flatten());
    with.or_else(|| after(cursor, parts, form))
}

/// Parses a number with or without spaces.
fn file_number(cursor: &mut Cursor<'_>) -> Option<Reading> {
    let start = cursor.at();
    let whole = cursor.rest();
    if register::pass(cursor).is_some() {
        return Some((start..cursor.at(), whole.get(..cursor.at() - start)?.to_owned()));
    }
    number(cursor)
}

/// Parses groups of letters and digits.
fn number(cursor: &mut Cursor<'_>) -> Option<Reading> {
    let start = cursor.at();
    let whole = cursor.rest();
    cursor.take(1..=usize::MAX, |letter| letter.is_ascii_alphanumeric() || "ÄÖÜ".contains(letter))?;
    let group = |ahead: &mut Cursor<'_>| {
        ahead.take(1..=1, |letter| "./_-".contains(letter))?;
        ahead.take(1..=usize::MAX, |letter| letter.is_ascii_alphanumeric()).map(drop)
    };
    while cursor.attempt(group).is_some() {}
    Some((start..cursor.at(), whole.get(..cursor.at() - start)?.to_owned()))
}

/// Advances over ` Nr.:` and the like.
fn counter(cursor: &mut Cursor<'_>) -> bool {
    let found = cursor.skip_any(&JOINTS) && any_word(cursor, files::COUNTERS);
    points(cursor);
    found
}

/// Advances over `Nr.` and the like.
fn short_counter(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip_any(&JOINTS);
    let found = any_word(cursor, &["nr", "no"]);
    cursor.skip(".");
    found
}

/// Advances over a point, a colon, or both.
fn points(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip(".") | cursor.skip(":")
}

fn space(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip(" ")
}

fn any_word(cursor: &mut Cursor<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| cursor.skip_word(word))
}
