//! Reads TOML as a tree of JSON values, with the line of each value.

use std::collections::HashMap;

use bulkhead_triage_configuration::{Invalid, Violation};
use serde_json::{Map, Number, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Line numbers, from 1, by the path of a value, such as `action_rules[0].conditions[2].field`.
#[derive(Clone, Debug, Default)]
pub struct LineIndex(HashMap<String, usize>);

impl LineIndex {
    /// Inserts the line of `path`.
    pub(crate) fn insert(&mut self, path: &str, line: usize) {
        self.0.insert(path.to_owned(), line);
    }

    /// Returns the line of `path`; for an absent value, that of the table that would contain it.
    pub(crate) fn line_of(&self, path: &str) -> Option<usize> {
        let mut path = path;
        loop {
            match self.0.get(path) {
                Some(line) => return Some(*line),
                None => path = path.get(..path.rfind(['.', '['])?)?,
            }
        }
    }
}

/// Returns the path of a member.
pub(crate) fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Reads TOML.
///
/// # Errors
/// Every syntax error, with its line.
pub fn parse(text: &str) -> Result<(Value, LineIndex), Invalid> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let breaks =
        text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place).collect();
    let mut reader = TomlReader { breaks, lines: LineIndex::default() };
    if errors.is_empty() {
        let value = reader.table("", document.get_ref());
        return Ok((value, reader.lines));
    }
    let violation = |error: toml::de::Error| {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let line = error.span().map(|span| reader.line(span.start));
        Violation { line, ..Violation::at("", format!("not valid TOML: {message}")) }
    };
    let violations = errors.into_iter().map(violation).collect();
    Err(Invalid(violations).located(|_| None))
}

struct TomlReader {
    /// Byte positions of line ends.
    breaks: Vec<usize>,
    lines: LineIndex,
}

impl TomlReader {
    fn line(&self, position: usize) -> usize {
        1 + self.breaks.partition_point(|end| *end < position)
    }

    fn table(&mut self, path: &str, table: &DeTable<'_>) -> Value {
        let mut members = Map::new();
        for (key, value) in table {
            let path = member(path, key.get_ref());
            self.lines.insert(&path, self.line(key.span().start));
            members.insert(key.get_ref().to_string(), self.value(&path, value));
        }
        Value::Object(members)
    }

    fn value(&mut self, path: &str, value: &Spanned<DeValue<'_>>) -> Value {
        match value.get_ref() {
            DeValue::String(text) => Value::from(text.as_ref()),
            DeValue::Boolean(flag) => Value::from(*flag),
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .map_or_else(|_| Value::from(digits.as_str()), Value::from),
            // JSON has neither `nan` nor `inf`: as text they are rejected and shown.
            DeValue::Float(digits) => digits
                .as_str()
                .parse()
                .ok()
                .and_then(Number::from_f64)
                .map_or_else(|| Value::from(digits.as_str()), Value::Number),
            DeValue::Datetime(date) => Value::from(date.to_string()),
            DeValue::Table(table) => self.table(path, table),
            DeValue::Array(items) => {
                let items = items.iter().enumerate().map(|(index, item)| {
                    let path = format!("{path}[{index}]");
                    self.lines.insert(&path, self.line(item.span().start));
                    self.value(&path, item)
                });
                Value::Array(items.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    const TOML: &str = "\
# A comment
margin = 0.5
threshold = nan

[[categories]]
name = \"a\"
examples = [
    \"b\",
    7,
]

[[categories]]
name = \"c\"

[preparser]
enabled = true
";

    #[test]
    fn values_have_lines() {
        let (value, lines) = parse(TOML).unwrap();
        assert_eq!(value["categories"][0]["examples"], serde_json::json!(["b", 7]));
        assert_eq!((&value["margin"], &value["threshold"]), (&0.5.into(), &"nan".into()));
        for (path, line) in [
            ("margin", 2),
            ("categories[0]", 5),
            ("categories[0].name", 6),
            ("categories[0].examples[1]", 9),
            ("categories[1].description", 12),
            ("preparser.config", 15),
        ] {
            assert_eq!(lines.line_of(path), Some(line), "{path}");
        }
        assert_eq!(lines.line_of("actions"), None);
    }

    #[test]
    fn syntax_errors_have_lines() {
        let error = parse("a = 1\nb = \nc = [\n").unwrap_err().to_string();
        assert!(error.contains("\n- line 2: not valid TOML: "), "{error}");
        assert!(parse("").unwrap().0.as_object().unwrap().is_empty());
    }
}
