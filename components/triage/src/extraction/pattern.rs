//! Searches a text for an operator's pattern.

use bulkhead_ticket_text::extract::date::{self, Date};
use bulkhead_ticket_text::extract::{account, email};
use bulkhead_triage_configuration::pattern::{Pattern, PatternType};

use super::Value;

/// Returns the first match of `pattern` that can be parsed as its type.
pub(super) fn find(pattern: &Pattern, text: &str, today: Date) -> Option<Value> {
    let matches = pattern.expression()?.captures_iter(text);
    matches
        .filter_map(|captures| captures.get(1).or_else(|| captures.get(0)))
        .find_map(|found| read(found.as_str(), pattern.kind(), today))
}

fn read(text: &str, kind: PatternType, today: Date) -> Option<Value> {
    match kind {
        PatternType::Text => Some(text.trim().to_owned()).filter(|text| !text.is_empty()).map(Value::Text),
        PatternType::Integer => integer(text).map(Value::Integer),
        PatternType::Number => number(text).map(Value::Number),
        PatternType::Date => date::parse(text, today).map(|date| Value::Text(date.to_string())),
        PatternType::Iban => account::first(text).map(Value::Text),
        PatternType::Email => email::first(text).map(Value::Text),
    }
}

fn number(text: &str) -> Option<f64> {
    plain_number(text).parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses `1.234` and `1.234,00`.
fn integer(text: &str) -> Option<i64> {
    let number = plain_number(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    whole.parse().ok().filter(|_| fraction.bytes().all(|digit| digit == b'0'))
}

/// Returns a number in machine notation: `1.234,50`, `1 234,50` and `1,234.50` as `1234.50`, `1.234` as `1234`,
/// `12.50` unchanged.
fn plain_number(text: &str) -> String {
    let text = text.trim().trim_end_matches(['.', ',', '-', '–']).replace([' ', '\u{a0}', '\''], "");
    match (text.rfind('.'), text.rfind(',')) {
        (Some(point), Some(comma)) if point > comma => text.replace(',', ""),
        (_, Some(_)) => text.replace('.', "").replace(',', "."),
        _ if is_grouped(&text) => text.replace('.', ""),
        _ => text,
    }
}

/// Returns whether points separate thousands: `1.234`, not `0.125` or `1234.567`.
fn is_grouped(text: &str) -> bool {
    let mut groups = text.trim_start_matches(['-', '+']).split('.');
    let first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && !first.starts_with('0'));
    first && groups.all(|group| group.len() == 3)
}
