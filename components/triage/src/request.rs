//! When the request that a ticket is about was made, and its number.

#[cfg(test)]
mod tests;

use bulkhead_ticket_text::cursor::{Cursor, scan};
use bulkhead_ticket_text::extract::date::{self, Date};
use bulkhead_ticket_text::extract::{Kind, find};

use crate::rules::conditions::Facts;

/// Words of a sentence that tells of a request.
const REQUEST: [&str; 30] = [
    "beantrag",
    "antrag",
    "eingereicht",
    "abgegeben",
    "abgeschickt",
    "gestellt",
    "gesendet",
    "geschickt",
    "eingesandt",
    "bestellt",
    "angemeldet",
    "anfrage",
    "unterlagen",
    "anschreiben",
    "bescheid",
    "warte",
    "applied",
    "application",
    "submitted",
    "handed in",
    "sent",
    "ordered",
    "request",
    "signed up",
    "registered",
    "waiting",
    "heard",
    "einspruch",
    "widerspruch",
    "bearbeit",
];

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

/// What `text` says of its request. Days come from a date, or a span such as "vor drei Wochen", in a sentence that
/// tells of a request; of several the longest ago counts. Dates in the future were never a request's.
pub fn facts(text: &str, today: Date) -> Facts {
    let days = sentences(text).flat_map(|sentence| {
        let lower = sentence.to_lowercase();
        let told = REQUEST.iter().any(|word| lower.contains(word));
        let days: Vec<i64> =
            if told { dated(sentence, today).chain(spans(&lower)).collect() } else { Vec::new() };
        days
    });
    let mut files = find(text, today).into_iter().filter(|found| found.kind == Kind::FileNumber);
    Facts {
        days_since_request: days.filter(|days| *days >= 0).max(),
        processing_id: files.next().map(|file| file.value),
    }
}

fn dated(sentence: &str, today: Date) -> impl Iterator<Item = i64> {
    date::find(sentence, today).into_iter().map(move |(_, date)| (today - date).whole_days())
}

/// Days of the spans in `sentence`, which is in lower case.
fn spans(sentence: &str) -> impl Iterator<Item = i64> {
    let spans = scan(sentence, |cursor| {
        if cursor.before().is_some_and(in_word) {
            return None;
        }
        let since = cursor.attempt(since);
        since.or_else(|| cursor.attempt(ago)).or_else(|| cursor.attempt(lasting))
    });
    spans.filter_map(|(_, (number, days))| Some(amount(number)? * days))
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
    let unit = cursor.take(1..=usize::MAX, in_word)?;
    let (_, days) = UNITS
        .into_iter()
        .find(|(start, _)| unit.strip_prefix(start).is_some_and(|ending| ENDINGS.contains(&ending)))?;
    Some((number, days))
}

fn amount(number: &str) -> Option<i64> {
    let word = || NUMBERS.iter().find(|(word, _)| *word == number).map(|(_, amount)| *amount);
    number.parse().ok().or_else(word)
}

/// Whether a word goes on with `letter`.
fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Parts of `text` that end with a mark and a space, or a line. The point of "3. Mai" ends none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let ends = line.char_indices().filter(|(at, letter)| {
            let number = line
                .get(..*at)
                .and_then(|before| before.chars().next_back())
                .is_some_and(|c| c.is_ascii_digit());
            let last = line.get(at + letter.len_utf8()..).is_some_and(|after| after.starts_with(' '));
            last && (matches!(letter, '!' | '?') || (*letter == '.' && !number))
        });
        let mut starts = vec![0];
        starts.extend(ends.map(|(at, letter)| at + letter.len_utf8()));
        starts.push(line.len());
        let parts: Vec<&str> =
            starts.windows(2).filter_map(|pair| line.get(*pair.first()?..*pair.last()?)).collect();
        parts
    })
}
