//! Telephone numbers as Germans write them: with a trunk zero or a country's code.

use std::ops::Range;

use super::Reading;
use crate::cursor::{Cursor, scan};

/// Digits of the shortest and the longest number.
const DIGITS: Range<usize> = 7..16;
/// Most characters between two groups of digits.
const WIDEST_GAP: usize = 3;

pub(super) fn find(text: &str) -> Vec<Reading> {
    let numbers = scan(text, form).filter_map(|(range, ())| {
        let number = text.get(range.clone())?;
        let digits = number.chars().filter(char::is_ascii_digit).count();
        let fits = DIGITS.contains(&digits) && super::stands_alone(text, &range) && starts(text, range.start);
        fits.then(|| (range, normal(number)))
    });
    numbers.collect()
}

/// A zero or a country's code, either in brackets or not, and groups of digits.
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

/// Not in the middle of a longer number: "2026-0917", "1.0345".
fn starts(text: &str, start: usize) -> bool {
    let mut before = text.get(..start).unwrap_or_default().chars().rev();
    let joined = before.next().is_some_and(|letter| "-./_#".contains(letter));
    !joined || !before.next().is_some_and(char::is_alphanumeric)
}

/// Digits and a leading `+`; the zero of "+49 (0)171" goes.
fn normal(number: &str) -> String {
    let number = if number.contains('+') { number.replace("(0)", "") } else { number.to_owned() };
    number.chars().filter(|letter| letter.is_ascii_digit() || *letter == '+').collect()
}
