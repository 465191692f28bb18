//! Parses relative dates, such as "vor drei Wochen".

use std::ops::Range;

use bulkhead_ticket_text::cursor::{Cursor, scan};
use bulkhead_ticket_text::extract::date::{self, Date, Month};

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

/// Numerals with their values. "einigen" and "several" are not here: their number is unknown.
const NUMBERS: [(&str, i64); 29] = [
    ("einem", 1),
    ("einer", 1),
    ("eine", 1),
    ("ein", 1),
    ("zwei", 2),
    ("drei", 3),
    ("vier", 4),
    ("fünf", 5),
    ("sechs", 6),
    ("sieben", 7),
    ("acht", 8),
    ("neun", 9),
    ("zehn", 10),
    ("elf", 11),
    ("zwölf", 12),
    ("a", 1),
    ("an", 1),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
];

/// Beginnings of words for units of time, with their days; see [`ENDINGS`].
const UNITS: [(&str, i64); 8] = [
    ("tag", 1),
    ("day", 1),
    ("woche", 7),
    ("week", 7),
    ("monat", 30),
    ("month", 30),
    ("jahr", 365),
    ("year", 365),
];
/// Endings of those words.
const ENDINGS: [&str; 5] = ["en", "e", "n", "s", ""];
/// Words between "vor" or "seit" and the number.
const ROUGHLY: [&str; 6] = [" über", " mehr als", " etwa", " ca.", " rund", " fast"];
/// Words between "for" and the number.
const ABOUT: [&str; 4] = ["over ", "more than ", "about ", "almost "];

/// Words for days, the longer ones before their suffixes.
const DAYS: [(&str, i64); 4] =
    [("the day before yesterday", 2), ("vorgestern", 2), ("gestern", 1), ("yesterday", 1)];
/// Words for today that are in no past-tense sentence by themselves.
const TODAY: [&str; 3] = ["heute", "today", "this morning"];
/// Beginnings of words for the last period, German ones without ending; those before it twice as long ago.
const LAST: [(&str, i64); 5] =
    [("letzte", 1), ("vergangene", 1), ("vorige", 1), ("vorletzte", 2), ("last", 1)];
const LAST_ENDINGS: [&str; 5] = ["n ", "r ", "s ", "m ", " "];
/// Words before a month or a year without a day.
const WITHIN: [&str; 18] = [
    "im ", "in ", "seit ", "since ", "vom ", "von ", "aus ", "dem ", "from ", "letzten ", "last ", "anfang ",
    "mitte ", "ende ", "early ", "late ", "jahr ", "jahre ",
];
/// Approximate numbers of two words.
const FEW: [&str; 4] = ["ein paar ", "a few ", "a couple of ", "a number of "];
/// The minimum that "several" means.
const SEVERAL: i64 = 2;
/// Weekdays from Monday on.
const WEEKDAYS: [[&str; 2]; 7] = [
    ["montag", "monday"],
    ["dienstag", "tuesday"],
    ["mittwoch", "wednesday"],
    ["donnerstag", "thursday"],
    ["freitag", "friday"],
    ["samstag", "saturday"],
    ["sonntag", "sunday"],
];

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
    cursor.skip_any(&WITHIN).then_some(())?;
    while cursor.skip_any(&WITHIN) {}
    let month = cursor.attempt(date::named_month);
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
    let (_, days) = DAYS.iter().find(|(word, _)| cursor.skip(word))?;
    ended(cursor).then_some(*days)
}

/// Parses "letzte Woche" and "last Monday".
fn last(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    let (_, times) = LAST.iter().find(|(word, _)| cursor.skip(word))?;
    cursor.skip_any(&LAST_ENDINGS).then_some(())?;
    let weekday = cursor.attempt(|ahead| weekday(ahead, today)).map(|days| days + 7 * (times - 1));
    weekday.or_else(|| unit(cursor).map(|days| days * times))
}

/// Parses "am Montag" and "heute".
fn bare(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    if TODAY.iter().any(|word| cursor.skip(word)) {
        return ended(cursor).then_some(0);
    }
    cursor.skip_any(&["am ", "on ", "seit ", "since "]).then(|| weekday(cursor, today)).flatten()
}

/// Parses a weekday into days since its last date before `today`.
fn weekday(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    let named = WEEKDAYS.iter().position(|names| cursor.skip_any(names))?;
    let passed = i64::from(today.weekday().number_days_from_monday()) - i64::try_from(named).ok()?;
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
    cursor.skip_any(&["vor", "seit"]).then_some(())?;
    cursor.skip_any(&ROUGHLY);
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
    cursor.skip_any(&ABOUT);
    span(cursor)
}

/// Parses a number of days, weeks, months or years.
fn span(cursor: &mut Cursor<'_>) -> Option<Ago> {
    if let Some(days) = cursor.attempt(unit) {
        return Some(Ago::at_least(days * SEVERAL));
    }
    if cursor.skip_any(&FEW) {
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
    let of_it = |start: &str| unit.strip_prefix(start).is_some_and(|ending| ENDINGS.contains(&ending));
    UNITS.into_iter().find(|(start, _)| of_it(start)).map(|(_, days)| days)
}

fn amount(number: &str) -> Option<i64> {
    let word = || NUMBERS.iter().find(|(word, _)| *word == number).map(|(_, amount)| *amount);
    number.parse().ok().or_else(word)
}

/// Returns whether a word can continue with `letter`.
fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
