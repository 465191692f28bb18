//! Dates in the forms that Germans, English and computers write, checked against the calendar.

use std::ops::Range;

pub use time::{Date, Month};

use crate::cursor::{Cursor, scan};
use crate::sentences::{Tense, Tenses};

/// Months in full, without their first letter, which may be of either case; the longer before those that begin them.
const MONTHS: [(char, &str, Month); 22] = [
    ('j', "anuary", Month::January),
    ('j', "anuar", Month::January),
    ('j', "änner", Month::January),
    ('f', "ebruary", Month::February),
    ('f', "ebruar", Month::February),
    ('m', "ärz", Month::March),
    ('m', "aerz", Month::March),
    ('m', "arch", Month::March),
    ('a', "pril", Month::April),
    ('m', "ai", Month::May),
    ('m', "ay", Month::May),
    ('j', "uni", Month::June),
    ('j', "une", Month::June),
    ('j', "uli", Month::July),
    ('j', "uly", Month::July),
    ('a', "ugust", Month::August),
    ('s', "eptember", Month::September),
    ('o', "ktober", Month::October),
    ('o', "ctober", Month::October),
    ('n', "ovember", Month::November),
    ('d', "ezember", Month::December),
    ('d', "ecember", Month::December),
];
/// Their short forms, which need their capital; a point may follow.
const SHORT_MONTHS: [(&str, Month); 16] = [
    ("Jan", Month::January),
    ("Feb", Month::February),
    ("Mär", Month::March),
    ("Mrz", Month::March),
    ("Mar", Month::March),
    ("Apr", Month::April),
    ("Jun", Month::June),
    ("Jul", Month::July),
    ("Aug", Month::August),
    ("Sept", Month::September),
    ("Sep", Month::September),
    ("Okt", Month::October),
    ("Oct", Month::October),
    ("Nov", Month::November),
    ("Dez", Month::December),
    ("Dec", Month::December),
];
/// What English writers put behind a day.
const ORDINALS: [&str; 4] = ["st", "nd", "rd", "th"];
/// Years of two digits up to this many after today's belong to this century.
const YEARS_AHEAD: i32 = 20;
/// Words whose figures are no dates: paragraphs and versions.
const COUNTED: [&str; 30] = [
    "abs",
    "absatz",
    "art",
    "artikel",
    "nr",
    "nummer",
    "ziffer",
    "ziff",
    "kapitel",
    "abschnitt",
    "punkt",
    "tabelle",
    "seite",
    "version",
    "versionen",
    "ver",
    "vers",
    "release",
    "rev",
    "build",
    "firmware",
    "ios",
    "android",
    "windows",
    "section",
    "chapter",
    "zimmer",
    "raum",
    "room",
    "ip",
];
/// Words before a day and a month with a blank between them.
const ANNOUNCING: [&str; 10] = ["am", "vom", "den", "dem", "zum", "bis", "seit", "ab", "der", "datum"];
/// What follows amounts, in lower case.
const UNITS: [&str; 12] =
    ["euro", "eur", "€", "%", "prozent", "cent", "chf", "dollar", "$", "kg", "mio", "stück"];
/// Characters of the longest of them.
const LONGEST_UNIT: usize = 7;
/// What stands before the day that something is meant for.
const AIMS: [&str; 6] = [" für den ", " zum ", " auf den ", "ermin am ", "ppointment on ", " to "];
/// Years that are taken for years.
const YEARS: Range<i32> = 1900..2100;

/// The forms, the stricter before those that are part of them.
const FORMS: [for<'t> fn(&mut Cursor<'t>) -> Option<Written<'t>>; 6] = [
    year_first,
    |cursor| with_year(cursor, &[". ", "."]),
    |cursor| with_year(cursor, &["/"]),
    named_behind_day,
    named_before_day,
    day_and_month,
];

/// A date as it is written, in a form that may hold one.
struct Written<'t> {
    day: &'t str,
    /// `None` where its number is no month's.
    month: Option<Month>,
    year: Option<&'t str>,
}

/// Dates and the bytes of `text` they stand in; days before months, as everywhere but in the United States. A date
/// without a year is the last or the next, as its sentence speaks of the past or of what is to come, else the nearest
/// to `today`.
pub fn find(text: &str, today: Date) -> Vec<(Range<usize>, Date)> {
    find_where(text, today, None)
}

/// The same where a sentence that does not tell speaks of `otherwise`.
pub fn find_where(text: &str, today: Date, otherwise: Option<Tense>) -> Vec<(Range<usize>, Date)> {
    let mut found: Vec<(Range<usize>, Date)> = Vec::new();
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return found;
    }
    let tenses = Tenses::new(text);
    for (range, written) in FORMS.iter().flat_map(|form| scan(text, form)) {
        let taken = found.iter().any(|(other, _)| range.start < other.end && other.start < range.end);
        if !taken && bounded(text, &range) && !counts_otherwise(text, &range, &written) {
            let tense =
                || if is_aimed_at(text, &range) { None } else { tenses.at(range.start).or(otherwise) };
            found.extend(read(&written, today, tense).map(|date| (range, date)));
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// Whether it is the day that something is meant for, which no verb tells the time of: "beantragt für den 15.12."
fn is_aimed_at(text: &str, range: &Range<usize>) -> bool {
    text.get(..range.start).is_some_and(|before| AIMS.iter().any(|aim| before.ends_with(aim)))
}

/// The whole of `text` as a date.
pub(super) fn parse(text: &str, today: Date) -> Option<Date> {
    let text = text.trim();
    find(text, today).into_iter().find(|(range, _)| *range == (0..text.len())).map(|(_, date)| date)
}

/// Neither a longer number nor a part of one: "10.11.12.13" and "12/2026/05/01" hold no date.
fn bounded(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    let mut after = text.get(range.end..).unwrap_or_default().chars();
    let (next, second) = (after.next(), after.next());
    let whole = text.get(range.clone()).is_some_and(|form| form.ends_with('.'));
    let goes_on = next.is_some_and(|letter| "./".contains(letter))
        && second.is_some_and(|letter| letter.is_ascii_digit());
    !goes_on
        && !before.is_some_and(|letter| letter.is_alphanumeric() || "./-".contains(letter))
        && !next.is_some_and(|letter| letter.is_alphanumeric() && !(whole && letter.is_alphabetic()))
}

/// Whether it is an amount, a paragraph of a law or a version: "12.11.20 Euro", "§ 3.4.25", "Version 3.4.25".
fn counts_otherwise(text: &str, range: &Range<usize>, written: &Written<'_>) -> bool {
    let (before, after) =
        (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    let before = before.trim_end_matches([' ', ':', '.', '(', '\u{a0}']);
    if before.ends_with('§') {
        return true;
    }
    let short = written.year.is_none_or(|year| year.len() == 2);
    let figures = text.get(range.clone()).is_some_and(|form| !form.contains(char::is_alphabetic));
    let word =
        before.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    let unit = after.trim_start().chars().take(LONGEST_UNIT).collect::<String>().to_lowercase();
    // "3. 10." may be two numbers of a list as well.
    let apart = written.year.is_none() && text.get(range.clone()).is_some_and(|form| form.contains(' '));
    short
        && figures
        && (apart && !ANNOUNCING.contains(&word.as_str())
            || COUNTED.contains(&word.as_str())
            || UNITS.iter().any(|start| unit.starts_with(start)))
}

/// `2026-05-03`, `2026-05-03T10:00:00+01:00`
fn year_first<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    let year = cursor.digits(4..=4)?;
    cursor.need("-")?;
    let month = cursor.digits(2..=2)?;
    cursor.need("-")?;
    let day = cursor.digits(2..=2)?;
    cursor.attempt(time_behind);
    Some(Written { day, month: numbered(month), year: Some(year) })
}

/// The time of a computer's date, with its distance from universal time.
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

/// `3.5.2026`, `03. 05. 26`, `3/5/2026`
fn with_year<'t>(cursor: &mut Cursor<'t>, joints: &[&str]) -> Option<Written<'t>> {
    let day = cursor.digits(1..=2)?;
    cursor.skip_any(joints).then_some(())?;
    let month = cursor.digits(1..=2)?;
    cursor.skip_any(joints).then_some(())?;
    let year = cursor.digits(4..=4).or_else(|| cursor.digits(2..=2))?;
    Some(Written { day, month: numbered(month), year: Some(year) })
}

/// `3. Mai 2026`, `1st of December`
fn named_behind_day<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    let day = cursor.digits(1..=2)?;
    let _ordinal = cursor.skip(".") || cursor.skip_any(&ORDINALS);
    cursor.skip(" ");
    cursor.skip("of ");
    let month = Some(named_month(cursor)?);
    Some(Written { day, month, year: year_behind(cursor) })
}

/// `May 3rd, 2026`
fn named_before_day<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    let month = Some(named_month(cursor)?);
    cursor.need(" ")?;
    let day = cursor.digits(1..=2)?;
    cursor.skip_any(&ORDINALS);
    Some(Written { day, month, year: year_behind(cursor) })
}

/// `24.9.`, `24. 9.`
fn day_and_month<'t>(cursor: &mut Cursor<'t>) -> Option<Written<'t>> {
    let day = cursor.digits(1..=2)?;
    cursor.skip_any(&[". ", "."]).then_some(())?;
    let month = cursor.digits(1..=2)?;
    cursor.need(".")?;
    Some(Written { day, month: numbered(month), year: None })
}

/// ` 2026` or `, 2026`, where it follows.
fn year_behind<'t>(cursor: &mut Cursor<'t>) -> Option<&'t str> {
    cursor.attempt(|ahead| {
        ahead.skip(",");
        ahead.need(" ")?;
        ahead.digits(4..=4)
    })
}

/// A month in full or as its usual short form.
pub fn named_month(cursor: &mut Cursor<'_>) -> Option<Month> {
    let first = cursor.rest().chars().next()?;
    let mut behind = *cursor;
    behind.take(1..=1, |letter| letter.is_ascii_alphabetic())?;
    let full =
        MONTHS.iter().find(|(initial, rest, _)| *initial == first.to_ascii_lowercase() && behind.skip(rest));
    if let Some((_, _, month)) = full {
        *cursor = behind;
        return Some(*month);
    }
    let (_, month) = SHORT_MONTHS.iter().find(|(name, _)| cursor.skip(name))?;
    cursor.skip(".");
    Some(*month)
}

fn numbered(month: &str) -> Option<Month> {
    Month::try_from(month.parse::<u8>().ok()?).ok()
}

fn read(written: &Written<'_>, today: Date, tense: impl FnOnce() -> Option<Tense>) -> Option<Date> {
    let (month, day) = (written.month?, written.day.parse().ok()?);
    let Some(year) = written.year else { return without_year(month, day, today, tense()) };
    let number: i32 = year.parse().ok()?;
    let year = if year.len() == 2 { full_year(number, today) } else { number };
    YEARS.contains(&year).then(|| Date::from_calendar_date(year, month, day).ok()).flatten()
}

fn full_year(two_digits: i32, today: Date) -> i32 {
    let this_century = today.year() / 100 * 100 + two_digits;
    if this_century > today.year() + YEARS_AHEAD { this_century - 100 } else { this_century }
}

fn without_year(month: Month, day: u8, today: Date, tense: Option<Tense>) -> Option<Date> {
    // The 29th of February may be eight years away.
    let years = today.year() - 8..=today.year() + 8;
    let dates = years.filter_map(|year| Date::from_calendar_date(year, month, day).ok());
    let dates = dates.filter(|date| match tense {
        Some(Tense::Past) => *date <= today,
        Some(Tense::Future) => *date >= today,
        None => (date.year() - today.year()).abs() <= 1,
    });
    dates.min_by_key(|date| (*date - today).whole_days().abs())
}
