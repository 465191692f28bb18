//! Named values of a ticket: built-in kinds, and the operator's patterns.

mod pattern;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::extract::{Found, Kind};
use bulkhead_triage_configuration::pattern::Pattern;

/// Maximum number of values kept of one kind.
const MOST_OF_A_KIND: usize = 5;

/// A typed value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// Text; dates as `2026-05-03`.
    Text(String),
}

/// Returns the named values of `text`: those `found` of built-in kinds, then those of `patterns`, whose names take
/// precedence. The second value of a kind is called `date_2`, and so on.
pub fn extract(text: &str, found: Vec<Found>, today: Date, patterns: &[Pattern]) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    let mut seen: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for found in found {
        let of_kind = seen.entry(found.kind).or_default();
        if of_kind.contains(&found.value) || of_kind.len() == MOST_OF_A_KIND {
            continue;
        }
        of_kind.push(found.value.clone());
        let name = match of_kind.len() {
            1 => found.kind.name().to_owned(),
            count => format!("{}_{count}", found.kind.name()),
        };
        values.insert(name, Value::Text(found.value));
    }
    for pattern in patterns {
        if let Some(value) = pattern::find(pattern, text, today) {
            values.insert(pattern.name().to_owned(), value);
        }
    }
    values
}
