//! Parses relative dates, such as "vor drei Wochen".

use std::ops::Range;

use bulkhead_ticket_text::calendar;
use bulkhead_ticket_text::cursor::{Cursor, scan};
use bulkhead_ticket_text::extract::date::{Date, Month};
use bulkhead_ticket_text::numerals::{number, numbered};

use crate::lists::spans::{
    ABOUT, BEFORE, DAYS, ENDINGS, FEW, LAST, LAST_ENDINGS, ON, ONE, ROUGHLY, TODAY, UNITS, WITHIN,
};

/// A distance in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ago {
    /// The number of days, at least.
    pub(super) days: i64,
    /// Whether it is a lower bound: "im Mai", "vor einigen Wochen".
    pub(super) roughly: bool,
}

impl Ago {
    /// Creates an exact distance of `days`.
    pub(super) fn exactly(days: i64) -> Self {
        Self { days, roughly: false }
    }

    fn at_least(days: i64) -> Self {
        Self { days, roughly: true }
    }
}

/// The minimum that "several" means.
const SEVERAL: i64 = 2;

/// Returns the relative dates in `text`, which is in lower case, with their byte ranges. Weekdays and words for today
/// count only if the sentence is about what `has_been`.
pub(super) fn days(text: &str, today: Date, has_been: bool) -> impl Iterator<Item = (Range<usize>, Ago)> {
    let words = scan(text, move |cursor| {
        if cursor.before().is_some_and(in_word) {
            return None;
        }
        if let Some(days) = cursor.attempt(|ahead| time_of_year(ahead, today)) {
            return Some(Ago::at_least(days));
        }
        let day = cursor.attempt(|ahead| last(ahead, today)).or_else(|| cursor.attempt(named));
        let day = day.or_else(|| has_been.then(|| cursor.attempt(|ahead| bare(ahead, today))).flatten());
        day.map(Ago::exactly)
    });
    spans(text).chain(words)
}

/// Parses "im Mai" and "seit Anfang 2026" into days since it ended.
fn time_of_year(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    cursor.skip_any(WITHIN).then_some(())?;
    while cursor.skip_any(WITHIN) {}
    let month = cursor.attempt(calendar::month);
    if month.is_some() {
        cursor.skip(" ");
    }
    let year = cursor.attempt(|ahead| ahead.digits(4..=4).filter(|year| year.starts_with("20")));
    // "since March 3" is a day.
    let continues = |letter: char| if month.is_some() { letter.is_ascii_digit() } else { in_word(letter) };
    if month.is_none() && year.is_none() || cursor.rest().starts_with(continues) {
        return None;
    }
    let month = month.unwrap_or(Month::December);
    let year = year.and_then(|year| year.parse().ok());
    let year = year.unwrap_or_else(|| today.year() - i32::from(u8::from(month) > u8::from(today.month())));
    let end = Date::from_calendar_date(year, month, month.length(year)).ok()?;
    Some((today - end).whole_days().max(0))
}

/// Parses "gestern".
fn named(cursor: &mut Cursor<'_>) -> Option<i64> {
    let (days, _) = numbered(DAYS, |word| cursor.skip(word))?;
    ended(cursor).then_some(days)
}

/// Parses "letzte Woche" and "last Monday".
fn last(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    let (times, _) = numbered(LAST, |word| cursor.skip(word))?;
    cursor.skip_any(LAST_ENDINGS).then_some(())?;
    let weekday = cursor.attempt(|ahead| weekday(ahead, today)).map(|days| days + 7 * (times - 1));
    weekday.or_else(|| unit(cursor).map(|days| days * times))
}

/// Parses "am Montag" and "heute".
fn bare(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    if cursor.skip_any(TODAY) {
        return ended(cursor).then_some(0);
    }
    cursor.skip_any(ON).then(|| weekday(cursor, today)).flatten()
}

/// Parses a weekday into days since its last date before `today`.
fn weekday(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    let named = calendar::weekday(cursor)?;
    let passed = i64::from(today.weekday().number_from_monday()) - named;
    ended(cursor).then(|| (passed - 1).rem_euclid(7) + 1)
}

/// Returns whether the word ends here.
fn ended(cursor: &Cursor<'_>) -> bool {
    !cursor.rest().starts_with(in_word)
}

/// Returns the spans in `text`, which is in lower case.
fn spans(text: &str) -> impl Iterator<Item = (Range<usize>, Ago)> {
    scan(text, |cursor| {
        if cursor.before().is_some_and(in_word) {
            return None;
        }
        let since = cursor.attempt(since);
        since.or_else(|| cursor.attempt(ago)).or_else(|| cursor.attempt(lasting))
    })
}

/// Parses "vor drei Wochen" and "seit etwa 11 Wochen".
fn since(cursor: &mut Cursor<'_>) -> Option<Ago> {
    cursor.skip_any(BEFORE).then_some(())?;
    cursor.skip_any(ROUGHLY);
    cursor.need(" ")?;
    span(cursor)
}

/// Parses "six weeks ago".
fn ago(cursor: &mut Cursor<'_>) -> Option<Ago> {
    let span = span(cursor)?;
    cursor.need(" ago")?;
    ended(cursor).then_some(span)
}

/// Parses "for more than two months".
fn lasting(cursor: &mut Cursor<'_>) -> Option<Ago> {
    cursor.need("for ")?;
    cursor.skip_any(ABOUT);
    span(cursor)
}

/// Parses a number of days, weeks, months or years.
fn span(cursor: &mut Cursor<'_>) -> Option<Ago> {
    if let Some(days) = cursor.attempt(unit) {
        return Some(Ago::at_least(days * SEVERAL));
    }
    if cursor.skip_any(FEW) {
        return Some(Ago::at_least(unit(cursor)? * SEVERAL));
    }
    let word = |letter: char| letter.is_ascii_lowercase() || "äöüß".contains(letter);
    let number = cursor.digits(1..=3).or_else(|| cursor.take(1..=usize::MAX, word))?;
    cursor.need(" ")?;
    let half = cursor.skip("halben ");
    let days = unit(cursor)?;
    let days = if half { days / 2 } else { days };
    Some(match amount(number) {
        Some(amount) => Ago::exactly(amount * days),
        None => Ago::at_least(days * SEVERAL),
    })
}

/// Parses a unit of time, such as "Woche" or "months", into days.
fn unit(cursor: &mut Cursor<'_>) -> Option<i64> {
    let unit = cursor.take(1..=usize::MAX, in_word)?;
    let is_one = |start: &str| unit.strip_prefix(start).is_some_and(|ending| ENDINGS.contains(&ending));
    numbered(UNITS, is_one).map(|(days, _)| days)
}

fn amount(written: &str) -> Option<i64> {
    let one = || ONE.contains(&written).then_some(1);
    written.parse().ok().or_else(one).or_else(|| number(written).map(i64::from))
}

/// Returns whether a word can continue with `letter`.
fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
