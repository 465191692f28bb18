//! Settings of the preparser, which selects rows of forms that arrive as tables.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::violation::Violation;

/// Whether and how to shorten texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparserSettings {
    /// Whether to shorten texts; off by default.
    #[serde(default)]
    pub enabled: bool,
    /// Required if `enabled`.
    #[serde(default)]
    pub config: Option<Form>,
}

/// The format of the form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Form {
    /// A table.
    Table(TableSettings),
}

/// The rows of a table to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSettings {
    /// First cells of the rows to keep.
    #[serde(default)]
    pub keep_rows: Vec<String>,
    /// Whether first cells are compared case-sensitively.
    #[serde(default)]
    pub case_sensitive: bool,
    /// Index of the first cell of the value; the row's first cell is 0.
    #[serde(default = "second_column")]
    pub value_column: usize,
}

fn second_column() -> usize {
    TableSettings::VALUE_COLUMN
}

impl TableSettings {
    /// Default value column: the second, after the row's name.
    pub const VALUE_COLUMN: usize = 1;
}

impl PreparserSettings {
    pub(crate) fn check(&self, violations: &mut Vec<Violation>) {
        if self.enabled && self.config.is_none() {
            violations.push(Violation::at("preparser.config", "preparser is enabled without a config"));
        }
    }
}
