//! Parsers for the formats of dates.

use time::Month;

use crate::calendar;
use crate::cursor::Cursor;
use crate::lists::dates;

/// The formats, the stricter before those that are part of them.
pub(super) const FORMS: [for<'t> fn(&mut Cursor<'t>) -> Option<Written<'t>>; 6] = [
    year_first,
    |cursor| with_year(cursor, &[". ", "."]),
    |cursor| with_year(cursor, &["/"]),
    named_behind_day,
    named_before_day,
    day_and_month,
];

/// A parsed date, which the calendar may not have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'t> {
    pub(super) day: &'t str,
    /// `None` if its number is not a month.
    pub(super) month: Option<Month>,
    pub(super) year: Option<&'t str>,
}

/// Parses `2026-05-03`, `2026-05-03T10:00:00+01:00` and `2026/05/03`.
fn year_first<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    let year = cursor.digits(4..=4)?;
    let joint = ["-", "/"].into_iter().find(|joint| cursor.skip(joint))?;
    let month = cursor.digits(2..=2)?;
    cursor.need(joint)?;
    let day = cursor.digits(2..=2)?;
    cursor.attempt(time_behind);
    Some(Written { day, month: numbered(month), year: Some(year) })
}

/// Parses the time of an ISO 8601 date, with its offset from UTC.
fn time_behind(cursor: &mut Cursor<'_>) -> Option<()> {
    cursor.skip_any(&["T", "t"]).then_some(())?;
    cursor.digits(2..=2)?;
    while cursor.attempt(|ahead| ahead.need(":").and_then(|()| ahead.digits(2..=2))).is_some() {}
    cursor.attempt(|ahead| ahead.skip_any(&[".", ","]).then(|| ahead.digits(1..=9)).flatten());
    if !cursor.skip_any(&["Z", "z"]) {
        cursor.attempt(|ahead| {
            ahead.skip_any(&["+", "-"]).then_some(())?;
            ahead.digits(2..=2)?;
            ahead.skip(":");
            ahead.digits(2..=2)
        });
    }
    Some(())
}

/// Parses `3.5.2026`, `03. 05. 26` and `3/5/2026`.
fn with_year<'t>(cursor: &mut Cursor<'t>, joints: &[&str]) -> Option<Written<'t>> {
    let day = cursor.digits(1..=2)?;
    cursor.skip_any(joints).then_some(())?;
    let month = cursor.digits(1..=2)?;
    cursor.skip_any(joints).then_some(())?;
    let year = cursor.digits(4..=4).or_else(|| cursor.digits(2..=2))?;
    Some(Written { day, month: numbered(month), year: Some(year) })
}

/// Parses `3. Mai 2026` and `1st of December`.
fn named_behind_day<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    let day = cursor.digits(1..=2)?;
    let _ordinal = cursor.skip(".") || cursor.skip_any(dates::ORDINALS);
    cursor.skip(" ");
    cursor.skip("of ");
    let month = Some(calendar::month(cursor)?);
    Some(Written { day, month, year: year_behind(cursor) })
}

/// Parses `May 3rd, 2026`.
fn named_before_day<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    // The end of a word is no month.
    if cursor.before().is_some_and(char::is_alphanumeric) {
        return None;
    }
    let month = Some(calendar::month(cursor)?);
    cursor.need(" ")?;
    let day = cursor.digits(1..=2)?;
    cursor.skip_any(dates::ORDINALS);
    Some(Written { day, month, year: year_behind(cursor) })
}

/// Parses `24.9.` and `24. 9.`.
fn day_and_month<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    let day = cursor.digits(1..=2)?;
    cursor.skip_any(&[". ", "."]).then_some(())?;
    let month = cursor.digits(1..=2)?;
    cursor.need(".")?;
    Some(Written { day, month: numbered(month), year: None })
}

/// Parses a following ` 2026` or `, 2026`, ` 26` or ` '26`; after a point without the space.
fn year_behind<'t>(cursor: &mut Cursor<'t>) -> Option<&'t str> {
    let full = cursor.attempt(|ahead| {
        let pointed = ahead.before() == Some('.');
        let comma = ahead.skip(",");
        (ahead.skip(" ") || (pointed && !comma)).then_some(())?;
        ahead.digits(4..=4)
    });
    full.or_else(|| cursor.attempt(short_year))
}

/// Parses a two-digit year, unless it is the hour or the number of something: `3. Mai 10 Uhr`.
fn short_year<'t>(cursor: &mut Cursor<'t>) -> Option<&'t str> {
    let pointed = cursor.before() == Some('.');
    let comma = cursor.skip(",");
    let apart = cursor.skip(" ") || (pointed && !comma);
    let marked = cursor.skip_any(&["'", "’", "‘"]);
    (marked || (apart && !comma)).then_some(())?;
    let year = cursor.digits(2..=2)?;
    let rest = cursor.rest();
    let longer = rest.starts_with(char::is_alphanumeric);
    (!longer && (marked || !counts(year, rest))).then_some(year)
}

/// Returns whether the two digits `figures` before `rest` are a count, or part of a time or of an amount.
fn counts(figures: &str, rest: &str) -> bool {
    let digit = |letter: char| letter.is_ascii_digit();
    if rest.strip_prefix(|joint| ".:,/-–".contains(joint)).is_some_and(|behind| behind.starts_with(digit)) {
        return true;
    }
    let mut words = rest.split(|letter: char| letter.is_whitespace() || ".,;:!?)".contains(letter));
    // The text up to the first space or sign after the digits.
    let touching = words.next().unwrap_or_default();
    let word = if touching.is_empty() { words.next().unwrap_or_default() } else { touching };
    // "10 bis 12 Uhr", "10 - 12 Uhr", not "26 bis 5. Mai 26"
    let continues = dates::HOUR_SPANS.contains(&word)
        && rest.trim_start().strip_prefix(word).is_some_and(|behind| {
            let last = behind.trim_start();
            let unit = last.trim_start_matches(digit);
            unit.len() < last.len() && !unit.starts_with('.')
        });
    let is_hour = figures <= "12" && dates::HALVES.contains(&word);
    continues || is_hour || dates::THINGS.contains(&word.to_lowercase().as_str())
}

fn numbered(month: &str) -> Option<Month> {
    Month::try_from(month.parse::<u8>().ok()?).ok()
}
