//! Forms that arrive as tables, in Markdown or HTML: only the rows that matter are kept.

#[cfg(test)]
mod tests;

use bulkhead_ticket_text::clean;
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

impl PreparserSettings {
    pub(crate) fn check(&self, violations: &mut Vec<Violation>) {
        if self.enabled && self.config.is_none() {
            violations.push(Violation::at("preparser.config", "preparser is enabled without a config"));
        }
    }

    /// The rows to keep as titled blocks; `text` itself where it is switched off or nothing is kept.
    pub fn apply(&self, text: &str) -> String {
        let kept = self.config.as_ref().filter(|_| self.enabled).map(|Form::Table(table)| table.kept(text));
        kept.filter(|kept| !kept.is_empty()).unwrap_or_else(|| text.to_owned())
    }
}

impl TableSettings {
    /// The second, where the first names the row.
    pub(crate) const VALUE_COLUMN: usize = 1;

    fn kept(&self, text: &str) -> String {
        let rows = markdown_rows(text).into_iter().chain(clean::rows(text));
        rows.filter_map(|row| self.block(&row)).collect::<Vec<_>>().join("\n\n")
    }

    /// A row to keep; one that was not filled in says nothing.
    fn block(&self, cells: &[String]) -> Option<String> {
        let title = cells.first()?;
        let same = |name: &String| {
            if self.case_sensitive { name == title } else { name.to_lowercase() == title.to_lowercase() }
        };
        let value = cells.get(self.value_column..).unwrap_or_default();
        let kept = self.keep_rows.iter().any(same) && value.iter().any(|cell| !cell.is_empty());
        kept.then(|| format!("## {title}\n{}", value.join(" | ")))
    }
}

/// The rows of Markdown tables below their heads.
fn markdown_rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut body = false;
    let mut before = "";
    for line in text.lines() {
        if is_separator(line) && before.contains('|') {
            body = true;
        } else if !line.contains('|') {
            body = false;
        } else if body {
            rows.push(cells(line).into_iter().map(str::to_owned).collect());
        }
        before = line;
    }
    rows
}

/// `| --- | :--: |`
fn is_separator(line: &str) -> bool {
    let cells = cells(line);
    line.contains('-')
        && !cells.is_empty()
        && cells.iter().all(|cell| {
            let dashes = cell.trim_start_matches(':').trim_end_matches(':');
            !dashes.is_empty() && dashes.chars().all(|character| character == '-')
        })
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    line.strip_suffix('|').unwrap_or(line).split('|').map(str::trim).collect()
}
