//! When the request that a ticket is about was made, and its number.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::Regex;

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

/// "vor drei Wochen", "seit 11 Wochen", "six weeks ago", "for two months"
static SPAN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let number = r"(?P<number>[0-9]{1,3}|[a-zäöüß]+)";
    let unit = "(?P<unit>tag|woche|monat|jahr|day|week|month|year)(?:en|e|n|s)?";
    Regex::new(&format!(r"(?i)\b(?:vor|seit)(?: (?:über|mehr als|etwa|ca\.|rund|fast))? {number} {unit}\b|\b{number_2} {unit_2} ago\b|\bfor (?:over |more than |about |almost )?{number_3} {unit_3}\b",
        number_2 = number.replace("number", "number2"), unit_2 = unit.replace("unit", "unit2"),
        number_3 = number.replace("number", "number3"), unit_3 = unit.replace("unit", "unit3"))).ok()
});

/// What `text` says of its request. Days come from a date, or a span such as "vor drei Wochen", in a sentence that
/// tells of a request; of several the longest ago counts. Dates in the future were never a request's.
pub fn facts(text: &str, today: Date) -> Facts {
    let days = sentences(text).filter(|sentence| {
        let sentence = sentence.to_lowercase();
        REQUEST.iter().any(|word| sentence.contains(word))
    });
    let days = days.flat_map(|sentence| dated(sentence, today).chain(spans(sentence)).collect::<Vec<_>>());
    let mut files = find(text, today).into_iter().filter(|found| found.kind == Kind::FileNumber);
    Facts {
        days_since_request: days.filter(|days| *days >= 0).max(),
        processing_id: files.next().map(|file| file.value),
    }
}

fn dated(sentence: &str, today: Date) -> impl Iterator<Item = i64> {
    date::find(sentence, today).into_iter().map(move |(_, date)| (today - date).whole_days())
}

fn spans(sentence: &str) -> impl Iterator<Item = i64> {
    let captures = SPAN.iter().flat_map(move |span| span.captures_iter(sentence));
    captures.filter_map(|captures| {
        let part = |names: [&str; 3]| {
            names.into_iter().find_map(|name| captures.name(name)).map(|part| part.as_str().to_lowercase())
        };
        let number = part(["number", "number2", "number3"])?;
        let number = number.parse().ok().or_else(|| {
            let word = NUMBERS.iter().find(|(word, _)| *word == number);
            word.map(|(_, number)| *number)
        })?;
        let unit = match part(["unit", "unit2", "unit3"])?.as_str() {
            "tag" | "day" => 1,
            "woche" | "week" => 7,
            "monat" | "month" => 30,
            _ => 365,
        };
        Some(number * unit)
    })
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
