//! Which rows are kept of forms that arrive as tables.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::violation::Violation;

/// Whether and how texts are cut down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparserSettings {
    /// Off unless asked for.
    #[serde(default)]
    pub enabled: bool,
    /// Needed where it is enabled.
    #[serde(default)]
    pub config: Option<Form>,
}

/// What texts are cut down from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Form {
    /// A table.
    Table(TableSettings),
}

/// Which rows of a table are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSettings {
    /// First cells of the rows to keep.
    #[serde(default)]
    pub keep_rows: Vec<String>,
    /// Whether letters of either case differ.
    #[serde(default)]
    pub case_sensitive: bool,
    /// Cells from this one on are the value; the first is 0.
    #[serde(default = "second_column")]
    pub value_column: usize,
}

fn second_column() -> usize {
    TableSettings::VALUE_COLUMN
}

impl TableSettings {
    /// The second, where the first names the row.
    pub(crate) const VALUE_COLUMN: usize = 1;
}

impl PreparserSettings {
    pub(crate) fn check(&self, violations: &mut Vec<Violation>) {
        if self.enabled && self.config.is_none() {
            violations.push(Violation::at("preparser.config", "preparser is enabled without a config"));
        }
    }
}
