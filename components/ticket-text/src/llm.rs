//! Questions to a language model. Its reply is untrusted text.

use bulkhead_text::clean::visible;
use bulkhead_text::language::Language;
use serde::de::DeserializeOwned;

use crate::lists::failures;

/// What tickets are sent to, if the configuration does not say it.
pub const OFFICE: &str = "a public office";

/// What the host's text about an endpoint has before the status of a reply.
const STATUS: &str = "answered with status ";

/// A question to a language model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Instructions without any text of the customer.
    pub system: String,
    /// JSON with the customer's text as data.
    pub user: String,
    /// JSON schema of the answer.
    pub schema: String,
}

/// A named text that determines answers, so that operators can compare two hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its name.
    pub name: &'static str,
    /// Its version number, if the component counts one.
    pub version: Option<u32>,
    /// A text that changes whenever answers may change.
    pub text: String,
}

/// Why a language model gave no reply, for a clerk; the log has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The host's guard calls the ticket unsafe.
    Guarded,
    /// The ticket holds a prompt injection.
    Injected,
    /// There is no language model.
    NotConfigured,
    /// The host denies the request.
    Denied,
    /// The request exceeds the host's limits.
    OverBudget,
    /// It does not reply, or not in time.
    Silent,
    /// It refuses the key.
    Unauthorized,
    /// It has too many requests.
    Busy,
    /// It replies with another error.
    Faulty,
    /// Its reply cannot be parsed.
    Form,
}

impl Failure {
    /// Returns why an endpoint gave no completion, by the host's text `why`, which has the status if it replied.
    pub fn of_endpoint(why: &str) -> Self {
        match why.split_once(STATUS).map(|(_, status)| status.get(..3).unwrap_or_default()) {
            None => Self::Silent,
            Some("401" | "403") => Self::Unauthorized,
            Some("429") => Self::Busy,
            Some(_) => Self::Faulty,
        }
    }

    /// Returns the message for clerks.
    pub fn message(self, language: Language) -> &'static str {
        let text = match self {
            Self::Guarded => failures::GUARDED,
            Self::Injected => failures::INJECTED,
            Self::NotConfigured => failures::NOT_CONFIGURED,
            Self::Denied => failures::DENIED,
            Self::OverBudget => failures::OVER_BUDGET,
            Self::Silent => failures::SILENT,
            Self::Unauthorized => failures::UNAUTHORIZED,
            Self::Busy => failures::BUSY,
            Self::Faulty => failures::FAULTY,
            Self::Form => failures::FORM,
        };
        text.of(language)
    }
}

/// Reads a reply in JSON, with or without the Markdown fence that small models put around it.
///
/// # Errors
///
/// Fails with [`Failure::Form`] when it is not a `T`.
pub fn read<T: DeserializeOwned>(reply: &str) -> Result<T, Failure> {
    serde_json::from_str(bare(reply)).map_err(|_| Failure::Form)
}

fn bare(answer: &str) -> &str {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    fenced.and_then(|rest| rest.strip_suffix("```")).unwrap_or(answer)
}

/// Returns `text` on one line, without controls, invisible characters and direction marks.
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
    fn failure_messages_match_the_clerk_s_language() {
        use Failure::{Busy, Faulty, Silent, Unauthorized};
        use Failure::{Denied, Form, Guarded, Injected, NotConfigured, OverBudget};
        let all =
            [Guarded, Injected, NotConfigured, Denied, OverBudget, Silent, Unauthorized, Busy, Faulty, Form];
        let messages =
            all.map(|failure| (failure.message(Language::German), failure.message(Language::English)));
        for (at, (german, english)) in messages.iter().enumerate() {
            assert!(!german.contains("the ") && !german.contains("it "), "{german}");
            assert!(messages.iter().skip(at + 1).all(|(other, same)| other != german && same != english));
        }
    }

    #[test]
    fn failures_of_an_endpoint_name_its_status() {
        for (why, failure) in [
            ("it does not answer in time", Failure::Silent),
            ("it answered with status 401", Failure::Unauthorized),
            ("it answered with status 429", Failure::Busy),
            ("it answered with status 500", Failure::Faulty),
            ("it is not asked for 30 s, since it answered with status 403", Failure::Unauthorized),
        ] {
            assert_eq!(Failure::of_endpoint(why), failure, "{why}");
        }
    }

    #[test]
    fn lines_and_controls_become_spaces() {
        assert_eq!(one_line(" a\r\n\tb\u{7}c  \u{202e}d\u{200b} "), "a b c d");
    }
}
