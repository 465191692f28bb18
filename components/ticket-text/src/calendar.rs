//! Names of months and weekdays, in German and English.

use time::Month;

use crate::cursor::Cursor;
use crate::lists::calendar::{MONTHS, SHORT_MONTHS, WEEKDAYS};
use crate::numerals::numbered;

/// The English month whose name is also a verb.
const MAY: &str = "may";

/// Parses a month's full name, whose first letter may have any case, or its usual abbreviation.
pub fn month(cursor: &mut Cursor<'_>) -> Option<Month> {
    let rest = cursor.rest();
    let first = rest.chars().next().filter(char::is_ascii_alphabetic)?;
    let full = numbered(MONTHS, |name| {
        let names = name.strip_prefix(first.to_ascii_lowercase()).zip(rest.get(1..));
        names.is_some_and(|(name, rest)| rest.starts_with(name))
    });
    let (number, name) = full.or_else(|| numbered(SHORT_MONTHS, |name| rest.starts_with(name)))?;
    let length = name.chars().count();
    cursor.take(length..=length, |_| true)?;
    if full.is_none() {
        cursor.skip(".");
    }
    Month::try_from(u8::try_from(number).ok()?).ok()
}

/// Parses a weekday in lower case into its number, from 1 for Monday.
pub fn weekday(cursor: &mut Cursor<'_>) -> Option<i64> {
    numbered(WEEKDAYS, |name| cursor.skip(name)).map(|(number, _)| number)
}

/// Returns the names of months in lower case.
fn months() -> impl Iterator<Item = &'static str> {
    MONTHS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// Returns whether `word`, in lower case, is a month and nothing else.
pub fn is_month(word: &str) -> bool {
    word != MAY && months().any(|name| name == word)
}

/// Returns the names of weekdays in lower case, with which compounds begin, too.
pub fn weekdays() -> impl Iterator<Item = &'static str> {
    WEEKDAYS.iter().flat_map(|(_, names)| names.iter().copied())
}
