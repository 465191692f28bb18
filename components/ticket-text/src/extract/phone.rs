//! Telephone numbers as Germans write them: with a trunk zero or a country's code.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Reading;

/// Digits of the shortest and the longest number.
const DIGITS: Range<usize> = 7..16;

static FORM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:\+[1-9]|\(0|\(\+[1-9]|0)[0-9]*(?:[ /().-]{0,3}[0-9]+)+").ok());

pub(super) fn find(text: &str) -> Vec<Reading> {
    let matches = FORM.iter().flat_map(|form| form.find_iter(text));
    let numbers = matches.filter_map(|found| {
        let digits = found.as_str().chars().filter(char::is_ascii_digit).count();
        let fits = DIGITS.contains(&digits)
            && super::stands_alone(text, &found.range())
            && starts(text, found.start());
        fits.then(|| (found.range(), normal(found.as_str())))
    });
    numbers.collect()
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
