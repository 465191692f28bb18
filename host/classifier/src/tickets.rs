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
/// When a line is not a labelled ticket; the message has its number.
pub fn read(lines: &str) -> Result<Vec<Ticket>, Error> {
    numbered(lines).map(|tickets| tickets.into_iter().map(|(_, ticket)| ticket).collect())
}

/// Reads tickets as [`read`] does, each with the number of its line, from 1.
///
/// # Errors
///
/// As [`read`].
pub fn numbered(lines: &str) -> Result<Vec<(usize, Ticket)>, Error> {
    let numbered = lines.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let ticket = |(line, number)| {
        let ticket = serde_json::from_str(line)
            .map_err(|error: serde_json::Error| Error::Line(number, error.to_string()))?;
        Ok((number, ticket))
    };
    numbered.map(ticket).collect()
}
