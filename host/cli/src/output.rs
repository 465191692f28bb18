//! Writes to standard output, whose reader may close it early, and to standard error.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

use serde_json::Value;

/// Why a text could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The reader has closed standard output, which ends the command and is not a failure.
    #[error("the reader has closed standard output")]
    Closed,
    /// The write has failed.
    #[error("cannot write to standard output: {0}")]
    Failed(io::Error),
}

impl From<io::Error> for OutputError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Failed(error) }
    }
}

/// Writes `text` as it is.
///
/// # Errors
/// See [`OutputError`].
pub fn text(text: impl Display) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    write!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Writes `bytes` as they are.
///
/// # Errors
/// See [`OutputError`].
pub fn bytes(bytes: &[u8]) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Writes a line.
///
/// # Errors
/// See [`OutputError`].
pub fn line(line: impl Display) -> Result<(), OutputError> {
    text(format_args!("{line}\n"))
}

/// Returns a count in a column and what it counts, in the singular or the plural.
pub fn counted(count: impl Display, thing: &str) -> String {
    let count = count.to_string();
    let several = if count == "1" { "" } else { "s" };
    format!("{count:>7} {thing}{several}")
}

/// Writes a line to standard error. A failure is ignored, because no one needs to read it.
pub fn stderr_line(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes indented JSON for programs.
///
/// # Errors
/// See [`OutputError`].
pub fn json(value: &Value) -> Result<(), OutputError> {
    line(format_args!("{value:#}"))
}

/// Returns a value for people: text without a terminal's control characters, and an empty text for null.
pub fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => {
            text.chars().map(|char| if char.is_control() && char != '\n' { ' ' } else { char }).collect()
        }
        Some(other) => other.to_string(),
    }
}

/// Joins the lines of a text, so that it takes one line of the output.
pub fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Writes a list of objects as a table whose columns are these members.
///
/// # Errors
/// See [`OutputError`].
pub fn table(columns: &[&str], rows: Option<&Value>) -> Result<(), OutputError> {
    let rows = rows.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let cells = |row: &Value| -> Vec<String> {
        columns.iter().map(|column| one_line(&cell(row.get(*column)))).collect()
    };
    let head: Vec<String> = columns.iter().map(|column| column.to_uppercase()).collect();
    let lines: Vec<Vec<String>> = [head].into_iter().chain(rows.iter().map(cells)).collect();
    let width = |at: usize| {
        lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    lines.iter().try_for_each(|cells| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        line(padded.collect::<Vec<_>>().join("  ").trim_end())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cell_has_no_control_characters() {
        assert_eq!(cell(Some(&json!("a\u{1b}[31m\tb\r\nc"))), "a [31m b \nc");
        assert_eq!(cell(Some(&json!(7))), "7");
        assert_eq!(cell(Some(&Value::Null)), "");
    }

    #[test]
    fn lines_become_one() {
        assert_eq!(one_line("it is refused:\n  - one\n  - two\n"), "it is refused: - one - two");
    }
}
