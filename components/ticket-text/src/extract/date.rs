//! Dates in German, English and computer formats, checked against the calendar.

mod forms;

use std::ops::Range;

pub use time::{Date, Month};

use super::{Taken, streets};
use crate::cursor::scan;
use crate::lists::dates;
use crate::sentences::{Tense, Tenses};
use forms::{FORMS, Written};

/// Two-digit years up to this many after today's are in this century.
const YEARS_AHEAD: i32 = 20;
/// Number of characters of the longest unit of an amount.
const LONGEST_UNIT: usize = 7;
/// Plausible years.
const YEARS: Range<i32> = 1900..2100;

/// Returns dates in `text` with their byte ranges; days come before months, as everywhere but in the United States. A
/// date without a year is the last or the next one if the tense of its sentence is past or future, else the one
/// nearest to `today`.
pub fn find(text: &str, today: Date) -> Vec<(Range<usize>, Date)> {
    find_where(text, today, None)
}

/// Does the same, with the tense `otherwise` for sentences without a clear tense.
pub fn find_where(text: &str, today: Date, otherwise: Option<Tense>) -> Vec<(Range<usize>, Date)> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let tenses = Tenses::new(text);
    let mut found: Vec<Reading<'_>> = Vec::new();
    let mut taken = Taken::default();
    for (range, written) in FORMS.iter().flat_map(|form| scan(text, form)) {
        if !taken.is_free(&range) || !bounded(text, &range) || counts_otherwise(text, &range, &written) {
            continue;
        }
        if streets::are_named_after(text, &range) {
            taken.take(&range);
            continue;
        }
        let tense = || if is_aimed_at(text, &range) { None } else { tenses.at(range.start).or(otherwise) };
        if let Some(date) = read(&written, today, tense) {
            taken.take(&range);
            found.push(Reading { range, written, date });
        }
    }
    found.sort_by_key(|reading| reading.range.start);
    let shared = found.windows(2).map(|pair| match pair {
        [first, last] => first.of_span(last, text),
        _ => None,
    });
    let shared: Vec<Option<Date>> = shared.chain([None]).collect();
    let dates = found.into_iter().zip(shared);
    dates.map(|(reading, shared)| (reading.range, shared.unwrap_or(reading.date))).collect()
}

/// A date and its parsed form.
struct Reading<'t> {
    range: Range<usize>,
    written: Written<'t>,
    date: Date,
}

impl Reading<'_> {
    /// Returns the first day of the range that ends with `last`, if only that has the year: "1.6.-3.6.2025".
    fn of_span(&self, last: &Reading<'_>, text: &str) -> Option<Date> {
        let between = text.get(self.range.end..last.range.start)?;
        (self.written.year.is_none() && last.written.year.is_some()).then_some(())?;
        dates::SPANS.contains(&between.trim()).then_some(())?;
        let in_year = |year| self.date.replace_year(year).ok();
        let same = in_year(last.date.year())?;
        if same <= last.date { Some(same) } else { in_year(last.date.year() - 1) }
    }
}

/// Returns whether it is the day of a purpose, whose tense no verb shows: "beantragt für den 15.12."
fn is_aimed_at(text: &str, range: &Range<usize>) -> bool {
    text.get(..range.start).is_some_and(|before| dates::AIMS.iter().any(|aim| before.ends_with(aim)))
}

/// Parses the whole of `text` as a date.
pub fn parse(text: &str, today: Date) -> Option<Date> {
    let text = text.trim();
    find(text, today).into_iter().find(|(range, _)| *range == (0..text.len())).map(|(_, date)| date)
}

/// Returns whether `range` is not part of a longer number: "10.11.12.13" and "12/2026/05/01" hold no date.
fn bounded(text: &str, range: &Range<usize>) -> bool {
    let head = text.get(..range.start).unwrap_or_default();
    let before = head.chars().next_back();
    let mut after = text.get(range.end..).unwrap_or_default().chars();
    let (next, second) = (after.next(), after.next());
    let whole = text.get(range.clone()).is_some_and(|form| form.ends_with('.'));
    let continues = next.is_some_and(|letter| "./".contains(letter))
        && second.is_some_and(|letter| letter.is_ascii_digit());
    !continues
        && (!before.is_some_and(|letter| letter.is_alphanumeric() || "./-".contains(letter))
            || begins_span(head))
        && !next.is_some_and(|letter| letter.is_alphanumeric() && !(whole && letter.is_alphabetic()))
}

/// Returns whether the text ends with the first day of a range: "1.-3.6.2026", "1.6.-3.6.2026", "1./2.6."
fn begins_span(head: &str) -> bool {
    let Some(first) = head.strip_suffix(['-', '/']) else { return false };
    let before = first.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let figures = first.get(before.len()..).unwrap_or_default().split('.').map(str::len);
    let apart = !before.ends_with(|letter: char| letter.is_alphanumeric() || "/-".contains(letter));
    // Reads only as many figures as a date has.
    let figures: Vec<usize> = figures.take(4).collect();
    apart && matches!(figures.as_slice(), [1..=2, 0] | [1..=2, 1..=2, 0] | [1..=2, 1..=2, 2 | 4])
}

/// Returns whether it is an amount, a paragraph of a law or a version: "12.11.20 Euro", "§ 3.4.25", "Version 3.4.25".
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
        && (apart && !dates::ANNOUNCING.contains(&word.as_str())
            || dates::COUNTED.contains(&word.as_str())
            || dates::UNITS.iter().any(|start| unit.starts_with(start)))
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
