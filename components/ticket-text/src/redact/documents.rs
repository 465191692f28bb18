//! Patterns of document and insurance numbers, and of numbers that words announce as personal.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::forms::{Forms, compiled, found, matches};
use crate::lists::documents;

/// Maximum number of characters between the name of a document and its number.
const REACH: usize = 40;
/// Maximum number of characters of such a number, separators included.
const LONGEST: usize = 30;

/// Expressions with the check of what they match: it has at least so many digits and letters, or is in groups.
type Checked = (Vec<Regex>, fn(&str) -> bool);

/// Numbers that need no announcing word.
static FORMS: LazyLock<Vec<Checked>> = LazyLock::new(|| {
    let forms = documents::FORMS.iter().map(|(check, forms)| {
        let check: fn(&str) -> bool = match *check {
            "digit" => |number| digits(number) > 0,
            "digits" => |number| digits(number) > 2,
            "letters" => |number| letters(number) > 2,
            "groups" => |number| in_groups(number) && letters(number) > 2,
            _ => |_| true,
        };
        let forms: Vec<String> = forms.iter().map(|form| format!("(?-u){form}")).collect();
        (compiled(&forms.iter().map(String::as_str).collect::<Vec<_>>()), check)
    });
    forms.collect()
});
static NAMED: Forms = LazyLock::new(|| compiled(documents::NAMED));
static TOKENS: Forms = LazyLock::new(|| compiled(documents::TOKENS));
static ANNOUNCED: Forms = LazyLock::new(|| compiled(documents::ANNOUNCED));
static SECRETS: Forms = LazyLock::new(|| compiled(documents::SECRET_FORMS));
static PASSWORDS: Forms = LazyLock::new(|| compiled(documents::PASSWORD_FORMS));
static BANKS: Forms = LazyLock::new(|| compiled(documents::BANK_FORMS));
static PATHS: Forms = LazyLock::new(|| compiled(documents::PATHS));

/// Minimum number of characters of a secret: the digits on the back of a card.
const LEAST_SECRET: usize = 3;
/// Minimum number of digits of an announced number.
const LEAST_DIGITS: usize = 4;
/// Number of letters and digits of a serial number with its suffix.
const SERIAL: std::ops::RangeInclusive<usize> = 9..=11;

/// Minimum number of characters of a part of a path that grants access.
const SHORTEST_KEY: usize = 12;

pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let written = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
    let mut numbers: Vec<Range<usize>> = Vec::new();
    for (forms, check) in FORMS.iter() {
        numbers.extend(matches(forms, text).filter(|number| check(written(number))));
    }
    numbers.extend(matches(&NAMED, text).flat_map(|document| behind(text, document.end)));
    numbers.extend(found(&ANNOUNCED, text).filter(|number| digits(written(number)) >= LEAST_DIGITS));
    numbers.extend(found(&SECRETS, text).filter_map(|range| secret(text, range)));
    numbers.extend(found(&PASSWORDS, text));
    numbers.extend(found(&BANKS, text));
    for path in found(&PATHS, text) {
        let mut start = path.start;
        for part in written(&path).split_inclusive('/') {
            let key = part.trim_end_matches(['/', '.', ',', ')']);
            if is_key(key) {
                numbers.push(start..start + key.len());
            }
            start += part.len();
        }
    }
    numbers
}

/// Returns the secret at `range` without the punctuation of its sentence.
fn secret(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let secret = text.get(range.clone())?.trim_end_matches(['.', ',', ';', ':', '?', '!', ')']);
    let has_sign = secret.contains(|sign: char| !sign.is_alphabetic() && sign != '-');
    (has_sign && secret.len() >= LEAST_SECRET).then_some(range.start..range.start + secret.len())
}

/// Returns whether a part of a link's path is random rather than words: letters of both cases, and digits.
fn is_key(part: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| part.bytes().any(|sign| kind(&sign));
    part.len() >= SHORTEST_KEY
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) || digits(part) * 4 > part.len())
        && !part.contains('.')
}

/// Returns the numbers that begin soon after byte `start`, on the same line.
fn behind(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let byte = |characters| line.char_indices().nth(characters).map_or(line.len(), |(at, _)| at);
    let reach = byte(REACH);
    let line = line.get(..byte(REACH + LONGEST)).unwrap_or_default();
    let tokens = matches(&TOKENS, line).take_while(move |token| token.start < reach);
    let numbers = tokens.filter(move |token| {
        let token = line.get(token.clone()).unwrap_or_default();
        if token.contains([' ', '-']) { in_groups(token) } else { digits(token) > 1 }
    });
    numbers.map(move |number| start + number.start..start + number.end)
}

/// Returns whether groups form a serial number, and more than one of them has a digit: "C01 X00 T47", not "A 12 MAI".
fn in_groups(written: &str) -> bool {
    let groups: Vec<&str> = written.split([' ', '-']).collect();
    let mixed = groups.iter().filter(|group| digits(group) > 0).count();
    SERIAL.contains(&groups.iter().map(|group| group.len()).sum()) && mixed > 1 && digits(written) > 2
}

fn letters(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_alphabetic).count()
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}
