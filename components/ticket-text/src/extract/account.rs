//! International bank account numbers (ISO 13616), with or without something between their groups.

use std::ops::Range;

use iban::{Iban, IbanLike};

use super::Reading;

/// Letters and digits of the shortest and the longest account number.
const LENGTHS: Range<usize> = 15..35;

/// The first account number in `text`, without spaces.
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

/// The account number that begins at byte `start`: of each country's length only one passes.
fn at(text: &str, start: usize) -> Option<Reading> {
    let mut compact = String::new();
    for (at, letter) in text.get(start..)?.char_indices() {
        match letter {
            // Not behind the first letter: "d. de89" begins with the second d.
            ' ' | '\u{a0}' | '-' | '–' | '.' if compact.len() > 1 => continue,
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
