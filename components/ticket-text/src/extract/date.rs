//! Dates in the forms that Germans, English and computers write, checked against the calendar.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};
pub use time::Date;
use time::Month;

/// Names of months as they begin, in both languages; the first that fits counts.
const MONTHS: [(&str, Month); 19] = [
    ("jan", Month::January),
    ("jän", Month::January),
    ("feb", Month::February),
    ("mär", Month::March),
    ("maer", Month::March),
    ("mrz", Month::March),
    ("mar", Month::March),
    ("apr", Month::April),
    ("mai", Month::May),
    ("may", Month::May),
    ("jun", Month::June),
    ("jul", Month::July),
    ("aug", Month::August),
    ("sep", Month::September),
    ("okt", Month::October),
    ("oct", Month::October),
    ("nov", Month::November),
    ("dez", Month::December),
    ("dec", Month::December),
];
/// A month, in full or as its usual short form.
const MONTH: &str = "(?P<month>[Jj]anuar[y]?|[Jj]änner|[Ff]ebruar[y]?|[Mm]ärz|[Mm]aerz|[Mm]arch|[Aa]pril|[Mm]ai|[Mm]ay|[Jj]un[ie]|\
    [Jj]ul[iy]|[Aa]ugust|[Ss]eptember|[Oo]ktober|[Oo]ctober|[Nn]ovember|[Dd]ezember|[Dd]ecember|\
    (?:Jan|Feb|Mär|Mrz|Mar|Apr|Jun|Jul|Aug|Sept?|Okt|Oct|Nov|Dez|Dec)\\.?)";
/// Years of two digits up to this many after today's belong to this century.
const YEARS_AHEAD: i32 = 20;
/// Years that are taken for years.
const YEARS: Range<i32> = 1900..2100;

/// The forms, the stricter before those that are part of them.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let named = [
        "(?P<year>[0-9]{4})-(?P<number>[0-9]{2})-(?P<day>[0-9]{2})".to_owned(),
        "(?P<day>[0-9]{1,2})\\. ?(?P<number>[0-9]{1,2})\\. ?(?P<year>[0-9]{4}|[0-9]{2})".to_owned(),
        "(?P<day>[0-9]{1,2})/(?P<number>[0-9]{1,2})/(?P<year>[0-9]{4}|[0-9]{2})".to_owned(),
        format!("(?P<day>[0-9]{{1,2}})(?:\\.|st|nd|rd|th)? ?(?:of )?{MONTH}(?:,? (?P<year>[0-9]{{4}}))?"),
        format!("{MONTH} (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>[0-9]{{4}}))?"),
        "(?P<day>[0-9]{1,2})\\.(?P<number>[0-9]{1,2})\\.".to_owned(),
    ];
    named.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

/// Dates and the bytes of `text` they stand in. A date without a year is the one nearest to `today`; days before
/// months, as everywhere but in the United States.
pub fn find(text: &str, today: Date) -> Vec<(Range<usize>, Date)> {
    let mut found: Vec<(Range<usize>, Date)> = Vec::new();
    for captures in FORMS.iter().flat_map(|form| form.captures_iter(text)) {
        let Some(range) = captures.get(0).map(|whole| whole.range()) else { continue };
        let taken = found.iter().any(|(other, _)| range.start < other.end && other.start < range.end);
        if !taken && bounded(text, &range) {
            found.extend(read(&captures, today).map(|date| (range, date)));
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// The whole of `text` as a date.
pub(super) fn parse(text: &str, today: Date) -> Option<Date> {
    let text = text.trim();
    find(text, today).into_iter().find(|(range, _)| *range == (0..text.len())).map(|(_, date)| date)
}

/// Neither a longer number nor a part of one: "1.2.3.4" and "12/2026/05/01" hold no date.
fn bounded(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    let after = text.get(range.end..).and_then(|after| after.chars().next());
    let whole = text.get(range.clone()).is_some_and(|form| form.ends_with('.'));
    !before.is_some_and(|letter| letter.is_alphanumeric() || "./-".contains(letter))
        && !after.is_some_and(|letter| letter.is_alphanumeric() && !(whole && letter.is_alphabetic()))
}

fn read(captures: &Captures<'_>, today: Date) -> Option<Date> {
    let number = |name: &str| captures.name(name)?.as_str().parse::<i32>().ok();
    let month = match captures.name("month") {
        Some(name) => {
            let name = name.as_str().to_lowercase();
            MONTHS.iter().find(|(start, _)| name.starts_with(start))?.1
        }
        None => Month::try_from(u8::try_from(number("number")?).ok()?).ok()?,
    };
    let day = u8::try_from(number("day")?).ok()?;
    match captures.name("year") {
        None => nearest(month, day, today),
        Some(year) => {
            let written: i32 = year.as_str().parse().ok()?;
            let year = if year.len() == 2 { full_year(written, today) } else { written };
            YEARS.contains(&year).then(|| Date::from_calendar_date(year, month, day).ok()).flatten()
        }
    }
}

fn full_year(two_digits: i32, today: Date) -> i32 {
    let this_century = today.year() / 100 * 100 + two_digits;
    if this_century > today.year() + YEARS_AHEAD { this_century - 100 } else { this_century }
}

fn nearest(month: Month, day: u8, today: Date) -> Option<Date> {
    let years = today.year() - 1..=today.year() + 1;
    let dates = years.filter_map(|year| Date::from_calendar_date(year, month, day).ok());
    dates.min_by_key(|date| (*date - today).whole_days().abs())
}
