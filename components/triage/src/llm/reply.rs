//! What the model answered. It is a text from outside like any other.

use serde::Deserialize;

/// Longest reasoning that is passed on, characters.
const LONGEST: usize = 500;

/// An answer in the form that was asked for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) reasoning: String,
    pub(super) category: String,
    pub(super) confidence: f32,
}

/// Reads JSON, also in the fence of Markdown that small models put around it.
pub(super) fn read(answer: &str) -> Result<Reply, &'static str> {
    let reply: Reply =
        serde_json::from_str(bare(answer)).map_err(|_| "its answer has another form than asked for")?;
    match (0.0..=1.0).contains(&reply.confidence) {
        true => Ok(reply),
        false => Err("its confidence is not between 0 and 1"),
    }
}

fn bare(answer: &str) -> &str {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    fenced.and_then(|rest| rest.strip_suffix("```")).unwrap_or(answer)
}

/// One line without controls, not too long.
pub(super) fn line(text: &str) -> String {
    let shown = |character: char| if character.is_control() { ' ' } else { character };
    let text: String = text.chars().map(shown).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
    }
}
