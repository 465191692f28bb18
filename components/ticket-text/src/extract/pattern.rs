//! Patterns that an operator configures.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::date::{self, Date};
use super::{Reading, Value, account, email};

/// A compiled pattern takes at most as much memory, bytes: enough for lists of hundreds of words.
const MOST_MEMORY: usize = 256 * 1024;

/// What a match is read as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternType {
    /// As it stands.
    #[default]
    Text,
    /// A whole number; German points between thousands are skipped.
    Integer,
    /// A number with a decimal comma or point; German points between thousands are skipped.
    Number,
    /// A date in any form that is read elsewhere.
    Date,
    /// An account number with a right checksum.
    Iban,
    /// An e-mail address.
    Email,
}

/// A pattern as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternSettings {
    /// Name of the value.
    pub name: String,
    /// Regular expression (syntax of the crate `regex`); its first group is the value, without groups all of it.
    pub pattern: String,
    /// What the value is.
    #[serde(default, rename = "type")]
    pub kind: PatternType,
}

/// A pattern that compiles. Compiling takes longer than looking for it in a ticket.
#[derive(Debug, Clone)]
pub struct Pattern {
    settings: PatternSettings,
    /// None where it was not checked and does not compile after all.
    expression: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Compiles `settings`.
    ///
    /// # Errors
    ///
    /// When the name is blank or the expression does not compile or is too large.
    pub fn new(settings: PatternSettings) -> Result<Self, String> {
        if settings.name.trim().is_empty() {
            return Err("has a blank name".to_owned());
        }
        let expression = compiled(&settings.pattern);
        let expression =
            expression.map_err(|error| format!("does not compile: {}", last_line(&error.to_string())))?;
        Ok(Self { settings, expression: OnceLock::from(Some(expression)) })
    }

    /// The same of `settings` that somebody has checked: compiled when it is first looked for.
    pub fn checked(settings: PatternSettings) -> Self {
        Self { settings, expression: OnceLock::new() }
    }

    /// Name of the value.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The first match that can be read as the type.
    pub fn find(&self, text: &str, today: Date) -> Option<Value> {
        let expression = self.expression.get_or_init(|| compiled(&self.settings.pattern).ok()).as_ref()?;
        let matches = expression.captures_iter(text);
        matches
            .filter_map(|captures| captures.get(1).or_else(|| captures.get(0)))
            .find_map(|found| self.read(found.as_str(), today))
    }

    fn read(&self, text: &str, today: Date) -> Option<Value> {
        let only = |found: Vec<Reading>| found.into_iter().next().map(|(_, value)| value);
        match self.settings.kind {
            PatternType::Text => {
                Some(text.trim().to_owned()).filter(|text| !text.is_empty()).map(Value::Text)
            }
            PatternType::Integer => integer(text).map(Value::Integer),
            PatternType::Number => number(text).map(Value::Number),
            PatternType::Date => date::parse(text, today).map(|date| Value::Text(date.to_string())),
            PatternType::Iban => only(account::find(text)).map(Value::Text),
            PatternType::Email => only(email::find(text)).map(Value::Text),
        }
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(MOST_MEMORY).build()
}

fn number(text: &str) -> Option<f64> {
    plain_number(text).parse().ok().filter(|number: &f64| number.is_finite())
}

/// `1.234` and `1.234,00`
fn integer(text: &str) -> Option<i64> {
    let number = plain_number(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    whole.parse().ok().filter(|_| fraction.bytes().all(|digit| digit == b'0'))
}

/// As machines write it: `1.234,50`, `1 234,50` and `1,234.50` as `1234.50`, `1.234` as `1234`, `12.50` as it stands.
fn plain_number(text: &str) -> String {
    let text = text.trim().trim_end_matches(['.', ',', '-', '–']).replace([' ', '\u{a0}', '\''], "");
    match (text.rfind('.'), text.rfind(',')) {
        (Some(point), Some(comma)) if point > comma => text.replace(',', ""),
        (_, Some(_)) => text.replace('.', "").replace(',', "."),
        _ if is_grouped(&text) => text.replace('.', ""),
        _ => text,
    }
}

/// Whether points stand between thousands: `1.234`, not `0.125` or `1234.567`.
fn is_grouped(text: &str) -> bool {
    let mut groups = text.trim_start_matches(['-', '+']).split('.');
    let first = groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && !first.starts_with('0'));
    first && groups.all(|group| group.len() == 3)
}

/// The compiler draws the expression over several lines; what is wrong stands in the last.
fn last_line(message: &str) -> &str {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ")
}
