//! Patterns that an operator configures.

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

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

    /// What the value is.
    pub fn kind(&self) -> PatternType {
        self.settings.kind
    }

    /// What to look for; `None` where it does not compile.
    pub fn expression(&self) -> Option<&Regex> {
        self.expression.get_or_init(|| compiled(&self.settings.pattern).ok()).as_ref()
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(MOST_MEMORY).build()
}

/// The compiler draws the expression over several lines; what is wrong stands in the last.
fn last_line(message: &str) -> &str {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ")
}
