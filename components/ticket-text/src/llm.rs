//! Asking a language model. What it answers is a text from outside like any other.

/// What a language model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Instructions, and nothing of the customer.
    pub system: String,
    /// JSON with the customer's text as data.
    pub user: String,
    /// JSON schema of the answer.
    pub schema: String,
}

/// An answer without the fence of Markdown that small models put around JSON.
pub fn bare(answer: &str) -> &str {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    fenced.and_then(|rest| rest.strip_suffix("```")).unwrap_or(answer)
}

/// `text` on one line, without controls.
pub fn one_line(text: &str) -> String {
    let shown = |character: char| if character.is_control() { ' ' } else { character };
    let text: String = text.chars().map(shown).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_taken_out_of_its_fence() {
        for answer in ["{}", " {}\n", "```json\n{}\n```", "```{}```"] {
            assert_eq!(bare(answer).trim(), "{}", "{answer}");
        }
        assert_eq!(bare("```json {}"), "```json {}", "a fence has two ends");
    }

    #[test]
    fn lines_and_controls_become_spaces() {
        assert_eq!(one_line(" a\r\n\tb\u{7}c  d "), "a b c d");
    }
}
