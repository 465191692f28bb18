//! The preparser: keeps the selected rows of forms that arrive as Markdown or HTML tables.

#[cfg(test)]
mod tests;

use bulkhead_text::clean;
use bulkhead_triage_configuration::preparser::{Form, PreparserSettings, TableSettings};

/// Returns the selected rows as titled blocks; `text` itself if `settings` are off or no row is kept.
pub fn apply(settings: &PreparserSettings, text: &str) -> String {
    let config = settings.config.as_ref().filter(|_| settings.enabled);
    let blocks = config.map(|Form::Table(table)| kept(table, text));
    blocks.filter(|blocks| !blocks.is_empty()).unwrap_or_else(|| text.to_owned())
}

fn kept(table: &TableSettings, text: &str) -> String {
    let rows = markdown_rows(text).into_iter().chain(clean::rows(text));
    rows.filter_map(|row| block(table, &row)).collect::<Vec<_>>().join("\n\n")
}

/// Returns a row as a block; `None` if it is not selected or not filled in.
fn block(table: &TableSettings, cells: &[String]) -> Option<String> {
    let title = cells.first()?;
    let same = |name: &String| {
        if table.case_sensitive { name == title } else { name.to_lowercase() == title.to_lowercase() }
    };
    let value = cells.get(table.value_column..).unwrap_or_default();
    let kept = table.keep_rows.iter().any(same) && value.iter().any(|cell| !cell.is_empty());
    kept.then(|| format!("## {title}\n{}", value.join(" | ")))
}

/// Returns the rows of Markdown tables below their heads.
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

/// Returns whether a line is a separator such as `| --- | :--: |`.
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
