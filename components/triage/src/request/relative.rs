//! Days that are told by how long ago they were.

use std::ops::Range;

use bulkhead_ticket_text::cursor::{Cursor, scan};
use bulkhead_ticket_text::extract::date::Date;

/// Words for numbers, with what they stand for. "einigen" and "several" are none: nobody knows how many days.
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

/// Beginnings of words for spans, with their days; see [`ENDINGS`].
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
/// How those words may end.
const ENDINGS: [&str; 5] = ["en", "e", "n", "s", ""];
/// What may stand between "vor" or "seit" and the number.
const ROUGHLY: [&str; 6] = [" über", " mehr als", " etwa", " ca.", " rund", " fast"];
/// The same between "for" and the number.
const ABOUT: [&str; 4] = ["over ", "more than ", "about ", "almost "];

/// Days that have a word of their own, the longer words before those that end them.
const DAYS: [(&str, i64); 4] =
    [("the day before yesterday", 2), ("vorgestern", 2), ("gestern", 1), ("yesterday", 1)];
/// The same that say of no sentence that it speaks of the past.
const TODAY: [&str; 3] = ["heute", "today", "this morning"];
/// Beginnings of words for the last of something, German ones without their ending; those before it twice as long ago.
const LAST: [(&str, i64); 5] =
    [("letzte", 1), ("vergangene", 1), ("vorige", 1), ("vorletzte", 2), ("last", 1)];
const LAST_ENDINGS: [&str; 5] = ["n ", "r ", "s ", "m ", " "];
/// Days of the week from Monday on.
const WEEKDAYS: [[&str; 2]; 7] = [
    ["montag", "monday"],
    ["dienstag", "tuesday"],
    ["mittwoch", "wednesday"],
    ["donnerstag", "thursday"],
    ["freitag", "friday"],
    ["samstag", "saturday"],
    ["sonntag", "sunday"],
];

/// Days since all that `text`, which is in lower case, tells so, and where it does. A day of the week and today count
/// where it speaks of what `has_been`.
pub(super) fn days(text: &str, today: Date, has_been: bool) -> impl Iterator<Item = (Range<usize>, i64)> {
    let words = scan(text, move |cursor| {
        if cursor.before().is_some_and(in_word) {
            return None;
        }
        let day = cursor.attempt(|ahead| last(ahead, today)).or_else(|| cursor.attempt(named));
        day.or_else(|| has_been.then(|| cursor.attempt(|ahead| bare(ahead, today))).flatten())
    });
    spans(text).chain(words)
}

/// "gestern"
fn named(cursor: &mut Cursor<'_>) -> Option<i64> {
    let (_, days) = DAYS.iter().find(|(word, _)| cursor.skip(word))?;
    ended(cursor).then_some(*days)
}

/// "letzte Woche", "last Monday"
fn last(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    let (_, times) = LAST.iter().find(|(word, _)| cursor.skip(word))?;
    cursor.skip_any(&LAST_ENDINGS).then_some(())?;
    let weekday = cursor.attempt(|ahead| weekday(ahead, today)).map(|days| days + 7 * (times - 1));
    weekday.or_else(|| unit(cursor).map(|days| days * times))
}

/// "am Montag", "heute"
fn bare(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    if TODAY.iter().any(|word| cursor.skip(word)) {
        return ended(cursor).then_some(0);
    }
    cursor.skip_any(&["am ", "on ", "seit ", "since "]).then(|| weekday(cursor, today)).flatten()
}

/// Days since the last day of that name before `today`.
fn weekday(cursor: &mut Cursor<'_>, today: Date) -> Option<i64> {
    let named = WEEKDAYS.iter().position(|names| cursor.skip_any(names))?;
    let passed = i64::from(today.weekday().number_days_from_monday()) - i64::try_from(named).ok()?;
    ended(cursor).then(|| (passed - 1).rem_euclid(7) + 1)
}

/// Whether the word ends here.
fn ended(cursor: &Cursor<'_>) -> bool {
    !cursor.rest().starts_with(in_word)
}

/// The spans in `text`, which is in lower case, with their days.
fn spans(text: &str) -> impl Iterator<Item = (Range<usize>, i64)> {
    let spans = scan(text, |cursor| {
        if cursor.before().is_some_and(in_word) {
            return None;
        }
        let since = cursor.attempt(since);
        since.or_else(|| cursor.attempt(ago)).or_else(|| cursor.attempt(lasting))
    });
    spans.filter_map(|(place, (number, days))| Some((place, amount(number)? * days)))
}

/// "vor drei Wochen", "seit etwa 11 Wochen"
fn since<'t>(cursor: &mut Cursor<'t>) -> Option<(&'t str, i64)> {
    cursor.skip_any(&["vor", "seit"]).then_some(())?;
    cursor.skip_any(&ROUGHLY);
    cursor.need(" ")?;
    span(cursor)
}

/// "six weeks ago"
fn ago<'t>(cursor: &mut Cursor<'t>) -> Option<(&'t str, i64)> {
    let span = span(cursor)?;
    cursor.need(" ago")?;
    (!cursor.rest().starts_with(in_word)).then_some(span)
}

/// "for more than two months"
fn lasting<'t>(cursor: &mut Cursor<'t>) -> Option<(&'t str, i64)> {
    cursor.need("for ")?;
    cursor.skip_any(&ABOUT);
    span(cursor)
}

/// A number as it is written, and the days of what it counts.
fn span<'t>(cursor: &mut Cursor<'t>) -> Option<(&'t str, i64)> {
    let word = |letter: char| letter.is_ascii_lowercase() || "äöüß".contains(letter);
    let number = cursor.digits(1..=3).or_else(|| cursor.take(1..=usize::MAX, word))?;
    cursor.need(" ")?;
    let half = cursor.skip("halben ");
    let days = unit(cursor)?;
    Some((number, if half { days / 2 } else { days }))
}

/// The days of "Woche", "months".
fn unit(cursor: &mut Cursor<'_>) -> Option<i64> {
    let unit = cursor.take(1..=usize::MAX, in_word)?;
    let of_it = |start: &str| unit.strip_prefix(start).is_some_and(|ending| ENDINGS.contains(&ending));
    UNITS.into_iter().find(|(start, _)| of_it(start)).map(|(_, days)| days)
}

fn amount(number: &str) -> Option<i64> {
    let word = || NUMBERS.iter().find(|(word, _)| *word == number).map(|(_, amount)| *amount);
    number.parse().ok().or_else(word)
}

/// Whether a word goes on with `letter`.
fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
