//! Patterns of personal numbers, of links' parameters, and of all extracted values.
//!
//! Wider than extraction: an account number with a wrong checksum is not a value, but still personal.

use std::ops::Range;
use std::sync::LazyLock;

use time::Date;

use super::forms::{Forms, compiled, found, matches};
use super::{PiiKind, documents};
use crate::extract::birth::is_birth;
use crate::extract::{self, Kind, date, plate};
use crate::lists::numbers;

static ACCOUNTS: Forms = LazyLock::new(|| compiled(numbers::ACCOUNTS));
static NUMBERS: Forms = LazyLock::new(|| compiled(numbers::ANY));
static QUERIES: Forms = LazyLock::new(|| compiled(numbers::QUERIES));
static PLATES: Forms = LazyLock::new(|| compiled(numbers::PLATE_FORMS));
/// Maximum number of letters adjacent to a number that belong to it rather than being a word.
const LONGEST_MARK: usize = 3;

pub(super) fn find(text: &str) -> Vec<(Range<usize>, PiiKind)> {
    let mut all = extracted(text);
    all.extend(matches(&ACCOUNTS, text).map(|account| (account, PiiKind::Iban)));
    all.extend(plate::all(text).into_iter().chain(found(&PLATES, text)).map(|plate| (plate, PiiKind::Plate)));
    let dates: Vec<Range<usize>> = dates(text).collect();
    let numbers = matches(&NUMBERS, text).flat_map(|number| undated(text, number, &dates));
    let numbers =
        numbers.map(|number| with_marks(text, &number)).filter(|number| !is_of_thing(text, number.start));
    let is_date =
        |number: &Range<usize>| dates.iter().any(|date| date.start <= number.start && number.end <= date.end);
    let announced = documents::find(text).into_iter().filter(|number| !is_date(number));
    let numbers = numbers.chain(announced).chain(found(&QUERIES, text));
    all.extend(numbers.map(|range| (range, PiiKind::Number)));
    all
}

/// Returns a fixed day to complete dates without a year; their byte ranges do not depend on it.
fn any_day() -> Date {
    Date::from_ordinal_date(2000, 1).unwrap_or(Date::MIN)
}

fn dates(text: &str) -> impl Iterator<Item = Range<usize>> {
    date::find(text, any_day()).into_iter().map(|(range, _)| range)
}

fn extracted(text: &str) -> Vec<(Range<usize>, PiiKind)> {
    let found = extract::find(text, any_day()).into_iter().filter_map(|found| {
        let kind = match found.kind {
            Kind::Iban => PiiKind::Iban,
            Kind::Email => PiiKind::Email,
            Kind::Date => {
                return is_birth(text, &found.range).then_some((found.range, PiiKind::BirthDate));
            }
            Kind::TicketNumber => PiiKind::Ticket,
            Kind::FileNumber => PiiKind::File,
            Kind::LicencePlate => PiiKind::Plate,
            Kind::Phone if is_of_thing(text, found.range.start) => return None,
            Kind::Phone => PiiKind::Phone,
        };
        Some((found.range, kind))
    });
    found.collect()
}

/// Returns whether a word before byte `at` says that the number there is that of a thing: "ISBN", "Version",
/// "Ersatzteil Nr.".
fn is_of_thing(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let mut words = before
        .rsplit(|sign: char| sign.is_whitespace() || ":.#-".contains(sign))
        .filter(|word| !word.is_empty());
    let last = words.next().unwrap_or_default().to_lowercase();
    let word = match numbers::NUMBER.contains(&last.as_str()) {
        true => words.next().unwrap_or_default().to_lowercase(),
        false => last,
    };
    numbers::THINGS.iter().any(|thing| word.starts_with(thing) || word.ends_with(thing))
}

/// Returns the parts of `number` between `dates` that are long enough to be numbers.
fn undated(text: &str, number: Range<usize>, dates: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut start = number.start;
    let mut parts = Vec::new();
    let within = dates.iter().filter(|date| date.start < number.end && number.start < date.end);
    for date in within {
        parts.push(start..date.start.max(start));
        start = date.end;
    }
    parts.push(start..number.end.max(start));
    let long = |part: &Range<usize>| {
        matches(&NUMBERS, text.get(part.clone())?).next().map(|found| (part.start, found))
    };
    parts.iter().filter_map(long).map(|(start, found)| start + found.start..start + found.end).collect()
}

/// Returns a number's range with its adjacent letters: "A123456789" is a health insurance number, "123456789D" an old
/// passport.
fn with_marks(text: &str, number: &Range<usize>) -> Range<usize> {
    let mark = |letter: &char| letter.is_ascii_alphanumeric();
    let before: String =
        text.get(..number.start).unwrap_or_default().chars().rev().take_while(mark).collect();
    let after: String = text.get(number.end..).unwrap_or_default().chars().take_while(mark).collect();
    let length = |mark: &String| {
        let word = mark.len() > LONGEST_MARK && mark.contains(|letter: char| letter.is_ascii_lowercase());
        if word { 0 } else { mark.len() }
    };
    number.start - length(&before)..number.end + length(&after)
}
