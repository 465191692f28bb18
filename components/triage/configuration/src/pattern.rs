//! Regular expressions that an operator configures for values.

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// Maximum memory of a compiled pattern, bytes: enough for lists of hundreds of words.
const MOST_MEMORY: usize = 256 * 1024;

/// Type of a matched value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternType {
    /// The text unchanged.
    #[default]
    Text,
    /// A whole number; German points between thousands are skipped.
    Integer,
    /// A number with a decimal comma or point; German points between thousands are skipped.
    Number,
    /// A date in any supported form.
    Date,
    /// An account number with a valid checksum.
    Iban,
    /// An e-mail address.
    Email,
}

/// A pattern as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternSettings {
    /// Name of the value.
    pub name: String,
    /// Regular expression (syntax of the crate `regex`); its first group is the value, without groups all of it.
    pub pattern: String,
    /// Type of the value.
    #[serde(default, rename = "type")]
    pub kind: PatternType,
}

/// A pattern that is compiled when first used: compiling takes longer than a search in a ticket.
#[derive(Debug, Clone)]
pub struct Pattern {
    settings: PatternSettings,
    /// `None` inside if an unchecked expression does not compile.
    expression: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Compiles `settings`.
    ///
    /// # Errors
    ///
    /// Fails when the name is blank, or when the expression does not compile or is too large.
    pub fn new(settings: PatternSettings) -> Result<Self, String> {
        if settings.name.trim().is_empty() {
            return Err("has a blank name".to_owned());
        }
        let expression = compiled(&settings.pattern);
        let expression =
            expression.map_err(|error| format!("does not compile: {}", last_line(&error.to_string())))?;
        Ok(Self { settings, expression: OnceLock::from(Some(expression)) })
    }

    /// Creates a pattern from `settings` that are already checked; compiled when first used.
    pub fn checked(settings: PatternSettings) -> Self {
        Self { settings, expression: OnceLock::new() }
    }

    /// Returns the name of the value.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Returns the type of the value.
    pub fn kind(&self) -> PatternType {
        self.settings.kind
    }

    /// Returns the expression to search for; `None` if it does not compile.
    pub fn expression(&self) -> Option<&Regex> {
        self.expression.get_or_init(|| compiled(&self.settings.pattern).ok()).as_ref()
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(MOST_MEMORY).build()
}

/// Returns the last line of the compiler's message, which says what is wrong; the lines before it show the
/// expression.
fn last_line(message: &str) -> &str {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ")
}
