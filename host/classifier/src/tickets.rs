//! Labelled tickets, a JSON object a line.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A labelled ticket. Other members of its line are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// What was written.
    pub text: String,
    /// Name of its category; also read from a member `label`.
    #[serde(alias = "label")]
    pub category: String,
    /// Code of its language, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// Reads labelled tickets; empty lines are skipped.
///
/// # Errors
///
/// When a line is no labelled ticket; the message has its number.
pub fn read(lines: &str) -> Result<Vec<Ticket>, Error> {
    let numbered = lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let ticket = |(index, line)| {
        serde_json::from_str(line)
            .map_err(|error: serde_json::Error| Error::Line(index + 1, error.to_string()))
    };
    numbered.map(ticket).collect()
}
