//! The triage configuration: its file, read and checked.

use std::path::{Path, PathBuf};

use bulkhead_os::files;
use bulkhead_triage_configuration::{Configuration, Invalid, Settings};
use serde_json::Value;

use super::reading::Reading;
use crate::triage::spanned_toml;

/// A checked configuration, and its JSON for the component.
#[derive(Clone, Debug)]
pub struct Rules {
    json: String,
    configuration: Configuration,
}

/// Why a configuration cannot be used. The text names the file.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}; fix tickets.triage", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The configuration is invalid.
    #[error("{}: {invalid}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All violations.
        invalid: Invalid,
    },
}

impl Rules {
    /// Reads a TOML or JSON file.
    ///
    /// # Errors
    /// When the file cannot be read, or everything that is wrong with it.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let text = files::read_text(path).map_err(|error| RulesError::Read { path: path.into(), error })?;
        Self::parse_file(path, &text)
    }

    /// Reads the text of a file, JSON where its name says so, else TOML.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse_file(path: &Path, text: &str) -> Result<Self, RulesError> {
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let rules = if is_json { Self::parse_json(text) } else { Self::parse(text) };
        rules.map_err(|invalid| RulesError::Invalid { path: path.into(), invalid })
    }

    /// Reads TOML.
    ///
    /// # Errors
    /// Everything that is wrong with it, with lines.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let (value, lines) = spanned_toml::parse(text)?;
        Self::new(value).map_err(|invalid| invalid.located(|path| lines.line_of(path)))
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn parse_json(text: &str) -> Result<Self, Invalid> {
        let whole = |error: serde_json::Error| Invalid::whole(format!("not valid JSON: {error}"));
        let rules = Self::new(serde_json::from_str(text).map_err(whole)?)?;
        // A tree loses duplicate members; this reports them.
        serde_json::from_str::<Settings>(text).map_err(whole)?;
        Ok(rules)
    }

    /// Checks a configuration.
    fn new(value: Value) -> Result<Self, Invalid> {
        let (settings, configuration) = Reading::new(value).check_all()?;
        let json = serde_json::to_string(&settings).map_err(|error| Invalid::whole(error.to_string()))?;
        Ok(Self { json, configuration })
    }

    /// Returns the JSON for the component.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Returns the checked configuration.
    pub const fn configuration(&self) -> &Configuration {
        &self.configuration
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TOML: &str = r#"
no_category_name = "other"
no_action_name = "clerk"
margins = 0.1

[[categories]]
name = "other"

[[categories]]
name = "fees"
auto_publish = "yes"
threshold = nan

[[actions]]
name = "clerk"
description = "a person reads"
type = "NoActoin"

[[action_rules]]
category_name = "fee"
action_name = "clerk"
conditions = [
    { priority = 1, field = "days", operator = "less", value = 3, action_name = "clerk" },
]
"#;

    #[test]
    fn violations_are_reported_with_lines() {
        let invalid = Rules::parse(TOML).unwrap_err().to_string();
        let lines: Vec<&str> = invalid.lines().collect();
        let expected = [
            "invalid triage configuration:",
            "- line 4: margins: unknown member; known here: categories, no_category_name, actions, no_action_name, auto_reply, \
             office, no_action_internal_note, action_rules, threshold, margin, max_user_text_length, preparser",
            "- line 11: categories[1].auto_publish: is \"yes\", it must be true or false",
            "- line 12: categories[1].threshold: is \"nan\", it must be a number",
            "- line 17: actions[0].type: is \"NoActoin\", it must be one of AIAnswer, NoAction, StaticAnswer",
            "- line 20: action_rules[0].category_name: the rule for category \"fee\" names no category",
            "- line 23: action_rules[0].conditions[0].field: is \"days\", it must be one of days_since_request, \
             processing_id",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn json_violations_have_paths() {
        let invalid = Rules::parse_json(r#"{"categories": [{"name": 1}]}"#).unwrap_err().to_string();
        assert!(invalid.contains("\n- categories[0].name: is 1, it must be text"), "{invalid}");
        assert!(invalid.contains("\n- actions: is missing, it must be a list"), "{invalid}");
        let json = r#"{"no_category_name": "a", "no_action_name": "b", "categories": [{"name": "a", "name": "a"}],
            "actions": [{"name": "b", "description": "", "type": "NoAction"}]}"#;
        assert!(Rules::parse_json(json).unwrap_err().to_string().contains("duplicate field `name`"));
        assert!(Rules::parse_json("{").unwrap_err().to_string().contains("not valid JSON"));
    }
}
