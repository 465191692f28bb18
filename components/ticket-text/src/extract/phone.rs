//! Telephone numbers in German notation: with a trunk zero or a country code.

use std::ops::Range;

use super::Reading;
use crate::cursor::{Cursor, scan};
use crate::lists::phones;

/// Minimum and maximum number of digits.
const DIGITS: Range<usize> = 7..16;
/// Maximum number of characters between two groups of digits.
const WIDEST_GAP: usize = 3;
/// Number of characters searched for such words before a number.
const REACH: usize = 40;

pub(super) fn find(text: &str) -> Vec<Reading> {
    let numbers = scan(text, form).filter_map(|(range, ())| {
        let number = text.get(range.clone())?;
        let digits = number.chars().filter(char::is_ascii_digit).count();
        let fits = DIGITS.contains(&digits)
            && super::stands_alone(text, &range)
            && starts(text, range.start)
            && !is_dated(number)
            && !is_announced_otherwise(text.get(..range.start)?);
        fits.then(|| (range, normal(number)))
    });
    numbers.collect()
}

/// Parses a zero or a country code, each possibly in brackets, and groups of digits.
fn form(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.skip("(");
    if cursor.skip("+") {
        cursor.digits(1..=1).filter(|digit| *digit != "0")?;
    } else {
        cursor.need("0")?;
    }
    let start = cursor.at();
    let group = |ahead: &mut Cursor<'_>| {
        ahead.take(0..=WIDEST_GAP, |letter| " /().-".contains(letter))?;
        ahead.digits(1..=usize::MAX).map(drop)
    };
    while cursor.attempt(group).is_some() {}
    (cursor.at() > start).then_some(())
}

/// Returns whether a number can start here, outside a longer one: "2026-0917", "1.0345".
fn starts(text: &str, start: usize) -> bool {
    let mut before = text.get(..start).unwrap_or_default().chars().rev();
    let joined = before.next().is_some_and(|letter| "-./_#".contains(letter));
    !joined || !before.next().is_some_and(char::is_alphanumeric)
}

/// Returns the digits and a leading `+`, without the zero of "+49 (0)171".
fn normal(number: &str) -> String {
    let number = if number.contains('+') { number.replace("(0)", "") } else { number.to_owned() };
    number.chars().filter(|letter| letter.is_ascii_digit() || *letter == '+').collect()
}

/// Returns whether it begins like a date that no calendar has: `00.00.0000`.
fn is_dated(number: &str) -> bool {
    let mut joints = number.trim_start_matches(|letter: char| letter.is_ascii_digit()).chars();
    let lengths: Vec<usize> = number
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|group| Some(group.len()).filter(|length| *length > 0))
        .take(3)
        .collect();
    let joined = joints.next().is_some_and(|letter| "./-".contains(letter));
    joined && matches!(lengths.as_slice(), [1..=2, 1..=2, 2 | 4])
}

/// Returns whether the words `before` make it the number of an account, a customer or the like.
fn is_announced_otherwise(before: &str) -> bool {
    let lower = super::last(before, REACH).to_lowercase();
    let mut rest = lower.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    for verb in phones::VERBS {
        rest = rest.strip_suffix(*verb).unwrap_or(rest).trim_end();
    }
    let mut words = rest.rsplit(|letter: char| !letter.is_alphanumeric() && !"-.".contains(letter));
    let word = words.next().unwrap_or_default().trim_matches(['-', '.']);
    // "account number"
    let word = if phones::NUMBERS.contains(&word) { words.next().unwrap_or_default() } else { word };
    let telephone = phones::TELEPHONES.iter().any(|kind| word.contains(kind));
    let ends = |endings: &[&str]| endings.iter().any(|end| word.ends_with(end));
    // "Bestellung" and "Telefonrechnung" contain parts of telephone words.
    ends(phones::THINGS) || !telephone && (ends(phones::ENDINGS) || phones::OTHERS.contains(&word))
}
