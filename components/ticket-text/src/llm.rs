//! Asking a language model. What it answers is a text from outside like any other.

use crate::clean::visible;
use crate::language::Language;

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

/// Why no language model has answered, as far as a clerk is told: the log has the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The host's guard objects to the ticket.
    Guarded,
    /// The ticket speaks to a machine.
    Injected,
    /// There is no language model.
    NotConfigured,
    /// It may not be asked this.
    Denied,
    /// It may not be asked as much as this.
    OverBudget,
    /// It does not answer, or not in time.
    Silent,
    /// Its answer cannot be read.
    Form,
}

impl Failure {
    /// What a clerk reads of it.
    pub fn told(self, language: Language) -> &'static str {
        let (german, english) = match self {
            Self::Guarded => ("die Prüfung beanstandet die Nachricht", "the guard objects to the message"),
            Self::Injected => {
                ("die Nachricht enthält Anweisungen an eine Maschine", "the message speaks to a machine")
            }
            Self::NotConfigured => ("es ist keines eingerichtet", "none is configured"),
            Self::Denied => ("die Anfrage ist nicht erlaubt", "the request is not allowed"),
            Self::OverBudget => ("sein Kontingent ist aufgebraucht", "its budget is used up"),
            Self::Silent => ("es antwortet nicht", "it does not answer"),
            Self::Form => (
                "seine Antwort hat eine andere Form als verlangt",
                "its answer has another form than asked for",
            ),
        };
        match language {
            Language::German => german,
            Language::English => english,
        }
    }
}

/// An answer without the fence of Markdown that small models put around JSON.
pub fn bare(answer: &str) -> &str {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    fenced.and_then(|rest| rest.strip_suffix("```")).unwrap_or(answer)
}

/// `text` on one line, without controls and what shows nothing or turns the direction of writing.
pub fn one_line(text: &str) -> String {
    let shown = |character: char| if character.is_control() { Some(' ') } else { visible(character) };
    let text: String = text.chars().filter_map(shown).collect();
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
    fn every_failure_is_told_in_the_clerk_s_language() {
        use Failure::{Denied, Form, Guarded, Injected, NotConfigured, OverBudget, Silent};
        let all = [Guarded, Injected, NotConfigured, Denied, OverBudget, Silent, Form];
        let told = all.map(|failure| (failure.told(Language::German), failure.told(Language::English)));
        for (at, (german, english)) in told.iter().enumerate() {
            assert!(!german.contains("the ") && !german.contains("it "), "{german}");
            assert!(told.iter().skip(at + 1).all(|(other, same)| other != german && same != english));
        }
    }

    #[test]
    fn lines_and_controls_become_spaces() {
        assert_eq!(one_line(" a\r\n\tb\u{7}c  \u{202e}d\u{200b} "), "a b c d");
    }
}
