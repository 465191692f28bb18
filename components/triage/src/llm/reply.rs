//! Parsing of the language model's reply.

use bulkhead_ticket_text::llm;
use serde::Deserialize;

use super::LlmClassifierError;

/// Maximum number of characters of the reasoning.
const LONGEST: usize = 500;

/// A reply in the requested form.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) reasoning: String,
    pub(super) category: String,
    pub(super) confidence: f32,
}

/// Reads a reply and checks its confidence.
pub(super) fn read(answer: &str) -> Result<Reply, LlmClassifierError> {
    let reply: Reply = llm::read(answer)?;
    match (0.0..=1.0).contains(&reply.confidence) {
        true => Ok(reply),
        false => Err(LlmClassifierError::Confidence),
    }
}

/// Shortens a line.
pub(super) fn shortened(line: String) -> String {
    match line.char_indices().nth(LONGEST) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
    }
}
