//! German licence plates.

use std::ops::Range;

use super::Reading;
use crate::cursor::{Cursor, scan};
use crate::lists::plates;

/// Separators after the district and before the digits.
const JOINTS: [&str; 5] = [" - ", " – ", "-", "–", " "];
/// Maximum number of letters and digits of a plate.
const LONGEST: usize = 8;
/// Minimum number of letters and digits of an unannounced plate without a hyphen.
const LEAST_SPACED: usize = 5;

/// A plate with its byte range.
struct Plate {
    range: Range<usize>,
    district: String,
    letters: String,
    digits: String,
    kind: String,
    /// Whether it has a hyphen, as on printed plates.
    hyphened: bool,
}

impl Plate {
    fn length(&self) -> usize {
        let parts = [&self.district, &self.letters, &self.digits, &self.kind];
        parts.into_iter().map(|part| part.chars().count()).sum()
    }

    fn is_one(&self, text: &str) -> bool {
        self.length() <= LONGEST
            && plates::DISTRICTS.contains(&self.district.as_str())
            && super::stands_alone(text, &self.range)
            && !text.get(self.range.end..).is_some_and(continues_number)
            && !text.get(..self.range.start).is_some_and(belongs)
    }

    /// Returns whether it is a plate without an announcement.
    fn is_sure(&self, text: &str) -> bool {
        let small = |part: &String| plates::SMALL.contains(&part.as_str());
        let paper = self.district == "DIN" && matches!(self.letters.as_str(), "A" | "B" | "C");
        let words = self.letters == "NR" || (small(&self.district) && small(&self.letters));
        let numbered = text.get(..self.range.start).is_some_and(is_numbered);
        let whole = self.hyphened || self.length() >= LEAST_SPACED;
        whole && !(paper || words || numbered)
    }

    fn reading(self) -> Reading {
        let Self { range, district, letters, digits, kind, .. } = self;
        (range, format!("{district}-{letters} {digits}{kind}"))
    }
}

/// Returns plates such as `M-AB 1234`, `m-ab 1234` and `M AB 1234E`; after an announcing word in any spelling.
pub(super) fn find(text: &str) -> Vec<Reading> {
    let plates = scan(text, unannounced);
    let sure = plates.map(|(_, plate)| plate).filter(|plate| plate.is_one(text) && plate.is_sure(text));
    let announced = scan(text, announced).filter_map(|(_, plates)| {
        let mut fitting = plates.into_iter().filter(|plate| plate.is_one(text));
        // "MAB1234" may be a car of Munich or of Mannheim.
        fitting.next().filter(|_| fitting.next().is_none())
    });
    announced.chain(sure).map(Plate::reading).collect()
}

/// Returns the same, and ambiguous ones: `MAB1234`.
pub(crate) fn all(text: &str) -> Vec<Range<usize>> {
    let joined =
        scan(text, |cursor| (!after_word(*cursor)).then(|| joined(cursor, char::is_uppercase)).flatten());
    let joined = joined.filter_map(|(range, plates)| {
        let plausible = |plate: &Plate| {
            let letters = plate.district.chars().count() + plate.letters.chars().count();
            let written = text.get(range.clone()).unwrap_or_default();
            let standard = plates::SMALL.iter().any(|word| word.len() > 2 && written.starts_with(word));
            letters > 2 && plate.digits.len() > 2 && !standard && plate.is_one(text)
        };
        plates.iter().any(plausible).then_some(range)
    });
    let announced = scan(text, announced).filter_map(|(_, plates)| {
        plates.into_iter().find(|plate| plate.is_one(text)).map(|plate| plate.range)
    });
    joined.chain(announced).chain(find(text).into_iter().map(|(range, _)| range)).collect()
}

/// Parses `Kennzeichen ist b tr 4410` into all possible plates.
fn announced(cursor: &mut Cursor<'_>) -> Option<Vec<Plate>> {
    plates::WORDS.iter().any(|word| cursor.skip_word(word)).then_some(())?;
    while plates::BETWEEN.iter().any(|between| cursor.skip_word(between)) {}
    cursor.skip(" ");
    let one = |plate: Plate| vec![plate];
    let read = cursor.attempt(|ahead| plate(ahead, char::is_alphabetic, &JOINTS).map(one));
    read.or_else(|| cursor.attempt(|ahead| joined(ahead, char::is_alphabetic)))
}

/// Parses `M-AB 1234`, `M AB 1234` and `m-ab 1234`.
fn unannounced(cursor: &mut Cursor<'_>) -> Option<Plate> {
    if after_word(*cursor) {
        return None;
    }
    let large = cursor.attempt(|ahead| plate(ahead, char::is_uppercase, &JOINTS));
    let mut small = || cursor.attempt(|ahead| plate(ahead, char::is_lowercase, &["-"]));
    large.or_else(|| small().filter(|plate| plate.length() >= LEAST_SPACED))
}

/// Parses a district, a separator, letters, an optional separator, digits, and the letter of old and electric cars.
fn plate(cursor: &mut Cursor<'_>, case: fn(char) -> bool, joints: &[&str]) -> Option<Plate> {
    let start = cursor.at();
    let district = cursor.take(1..=3, |letter| case(letter) && of_district(letter))?.to_uppercase();
    let joint = cursor.rest();
    cursor.skip_any(joints).then_some(())?;
    let hyphened = joint.trim_start().starts_with(['-', '–']);
    let letters = cursor.take(1..=2, |letter| case(letter) && letter.is_ascii_alphabetic())?.to_uppercase();
    cursor.skip_any(&JOINTS);
    let digits = cursor.digits(1..=4).filter(|digits| !digits.starts_with('0'))?.to_owned();
    let kind = kind(cursor);
    Some(Plate { range: start..cursor.at(), district, letters, digits, kind, hyphened })
}

/// Parses `MAB1234` into all possible plates.
fn joined(cursor: &mut Cursor<'_>, case: fn(char) -> bool) -> Option<Vec<Plate>> {
    let start = cursor.at();
    let written = cursor.take(2..=5, |letter| case(letter) && of_district(letter))?;
    let letters = written.to_uppercase();
    // "Kennzeichen seit 2026"
    let word = written != letters || plates::SMALL.contains(&written);
    let _hyphen = cursor.skip("-") || (!word && cursor.skip(" "));
    let digits = cursor.digits(1..=4).filter(|digits| !digits.starts_with('0'))?.to_owned();
    let kind = kind(cursor);
    let read = letters.char_indices().skip(1).filter_map(|(at, _)| {
        let (district, own) = letters.split_at_checked(at)?;
        let fits = own.len() <= 2 && own.is_ascii() && plates::DISTRICTS.contains(&district);
        fits.then(|| Plate {
            range: start..cursor.at(),
            district: district.to_owned(),
            letters: own.to_owned(),
            digits: digits.clone(),
            kind: kind.clone(),
            hyphened: false,
        })
    });
    Some(read.collect())
}

fn kind(cursor: &mut Cursor<'_>) -> String {
    let joined = cursor.take(1..=1, |letter| "EHeh".contains(letter));
    joined.or_else(|| cursor.attempt(kind_apart)).unwrap_or_default().to_uppercase()
}

fn kind_apart<'t>(cursor: &mut Cursor<'t>) -> Option<&'t str> {
    cursor.need(" ")?;
    let kind = cursor.take(1..=1, |letter| "EH".contains(letter))?;
    (!cursor.rest().starts_with(char::is_alphanumeric)).then_some(kind)
}

fn of_district(letter: char) -> bool {
    letter.is_ascii_alphabetic() || "ÄÖÜäöü".contains(letter)
}

fn after_word(cursor: Cursor<'_>) -> bool {
    cursor.before().is_some_and(|before| before.is_alphanumeric() || "-–/._@".contains(before))
}

/// Returns whether `after` continues a longer number.
fn continues_number(after: &str) -> bool {
    let mut after = after.chars();
    after.next().is_some_and(|letter| "-/".contains(letter))
        && after.next().is_some_and(char::is_alphanumeric)
}

/// Returns whether `before` ends with a part of the same number.
fn belongs(before: &str) -> bool {
    let mut before = before.chars().rev();
    before.next().is_some_and(|letter| "-–/._".contains(letter))
        && before.next().is_some_and(char::is_alphanumeric)
}

/// Returns whether the word `before` makes it the number of something else.
fn is_numbered(before: &str) -> bool {
    let word = before.trim_end().rsplit(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
    plates::THINGS.contains(&word.to_lowercase().as_str())
}
