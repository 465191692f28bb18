//! Everything personal that is made of digits, and e-mail addresses.
//!
//! Wider than what is extracted: a wrong account number is no value, and still somebody's.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use time::Date;

use super::Personal;
use crate::extract::{self, Kind};

/// Any account number by its form.
static IBAN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b[A-Za-z]{2}[0-9]{2}(?: ?[0-9A-Za-z]{4}){3,7}(?: ?[0-9A-Za-z]{1,3})?\b").ok()
});
/// Anything that could be meant as an address.
static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\w.%+-]+@[\w.-]*\w").ok());
/// Seven digits or more, in groups.
static NUMBER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\+?[0-9](?:[ /().-]{0,2}[0-9]){6,}").ok());
/// What announces a date of birth, up to where the date begins.
static BIRTH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i:\bgeb(?:oren|urtsdatum|urtstag)?\b|\bborn\b|\bbirth\w*|\bdob\b|\*)[^\n0-9]{0,30}$").ok()
});
/// Bytes before a date that are looked at for it.
const BEFORE: usize = 60;

pub(super) fn find(text: &str) -> Vec<(Range<usize>, Personal)> {
    let mut found = extracted(text);
    let forms = [(&IBAN, Personal::Iban), (&EMAIL, Personal::Email)];
    for (form, kind) in forms {
        found.extend(form.iter().flat_map(|form| form.find_iter(text)).map(|found| (found.range(), kind)));
    }
    let dates: Vec<Range<usize>> = dates(text).collect();
    let numbers = NUMBER.iter().flat_map(|form| form.find_iter(text)).map(|number| number.range());
    let dated =
        |number: &Range<usize>| dates.iter().any(|date| date.start < number.end && number.start < date.end);
    found.extend(numbers.filter(|number| !dated(number)).map(|range| (range, Personal::Number)));
    found
}

/// The day that dates without a year are completed by; where they stand does not depend on it.
fn any_day() -> Date {
    Date::from_ordinal_date(2000, 1).unwrap_or(Date::MIN)
}

fn dates(text: &str) -> impl Iterator<Item = Range<usize>> {
    extract::date::find(text, any_day()).into_iter().map(|(range, _)| range)
}

fn extracted(text: &str) -> Vec<(Range<usize>, Personal)> {
    let found = extract::find(text, any_day()).into_iter().filter_map(|found| {
        let kind = match found.kind {
            Kind::Iban => Personal::Iban,
            Kind::Email => Personal::Email,
            Kind::Date => {
                return is_birth(text, found.range.start).then_some((found.range, Personal::BirthDate));
            }
            Kind::TicketNumber => Personal::Ticket,
            Kind::FileNumber => Personal::File,
            Kind::LicencePlate => Personal::Plate,
            Kind::Phone => Personal::Phone,
        };
        Some((found.range, kind))
    });
    found.collect()
}

fn is_birth(text: &str, date: usize) -> bool {
    let start = (date.saturating_sub(BEFORE)..=date).find(|at| text.is_char_boundary(*at)).unwrap_or(date);
    let before = text.get(start..date).unwrap_or_default();
    BIRTH.as_ref().is_some_and(|birth| birth.is_match(before))
}
