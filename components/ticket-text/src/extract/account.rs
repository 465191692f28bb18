//! International bank account numbers (ISO 13616), with or without separators between their groups.

use std::ops::Range;

use iban::{Iban, IbanLike};

use super::Reading;

/// Minimum and maximum number of letters and digits of an account number.
const LENGTHS: Range<usize> = 15..35;

/// Returns the first account number in `text`, without spaces.
pub fn first(text: &str) -> Option<String> {
    find(text).into_iter().next().map(|(_, value)| value)
}

pub(super) fn find(text: &str) -> Vec<Reading> {
    let mut found: Vec<Reading> = Vec::new();
    for (start, letter) in text.char_indices() {
        let inside = found.last().is_some_and(|(last, _)| start < last.end);
        if letter.is_ascii_alphabetic() && !inside {
            found.extend(at(text, start));
        }
    }
    found
}

/// Returns the account number at byte `start`: for each country only one length is valid.
fn at(text: &str, start: usize) -> Option<Reading> {
    let rest = text.get(start..)?;
    // Two letters and a digit begin an account number, and hardly any word.
    let second = rest.chars().nth(1).filter(char::is_ascii_alphabetic);
    let third = second.and_then(|_| rest.chars().skip(2).find(|sign| !is_separator(*sign)));
    third.filter(char::is_ascii_digit)?;
    let mut compact = String::new();
    for (at, letter) in rest.char_indices() {
        match letter {
            // Not after the first letter: "d. de89" begins with the second d.
            sign if compact.len() > 1 && is_separator(sign) => continue,
            letter if letter.is_ascii_alphanumeric() => compact.push(letter.to_ascii_uppercase()),
            _ => return None,
        }
        let checked = LENGTHS.contains(&compact.len()).then(|| compact.parse::<Iban>().ok()).flatten();
        if let Some(iban) = checked {
            let range = start..start + at + 1;
            return super::stands_alone(text, &range).then(|| (range, iban.electronic_str().to_owned()));
        }
        // Two letters and two digits begin every account number.
        let fits = compact.bytes().enumerate().take(4).all(|(at, byte)| match at {
            0 | 1 => byte.is_ascii_uppercase(),
            _ => byte.is_ascii_digit(),
        });
        if !fits || compact.len() >= LENGTHS.end {
            return None;
        }
    }
    None
}

/// Returns whether a sign separates groups.
fn is_separator(sign: char) -> bool {
    matches!(sign, ' ' | '\u{a0}' | '-' | '–' | '.')
}
