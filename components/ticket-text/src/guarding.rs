//! Verdicts of a guardrail service, and the policy for them.
//!
//! An unsafe verdict or an unavailable guard blocks publication; classification and drafting continue, because they
//! do no harm.

use bulkhead_text::language::Language;

use crate::lists::guard;

/// The verdict of the host's guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No guard is configured.
    Unguarded,
    /// The guard found nothing.
    Safe,
    /// The guard calls the text unsafe; holds its labels.
    Unsafe(Vec<String>),
    /// The guard is unavailable; the text says why, for the log.
    Unavailable(String),
}

/// The judged text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// The customer's message.
    Message,
    /// The answer to it.
    Answer,
}

/// Policy for texts that the guard calls unsafe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Guarding {
    /// No guard is asked.
    #[default]
    Off,
    /// Never publish, and show the text to no language model.
    Withhold,
    /// Refuse the request.
    Refuse,
}

impl Verdict {
    /// Returns whether the verdict allows publication.
    pub fn publishes(&self) -> bool {
        matches!(self, Self::Unguarded | Self::Safe)
    }

    /// Returns whether a language model may see the text.
    pub fn may_be_shown(&self) -> bool {
        !matches!(self, Self::Unsafe(_))
    }

    /// Returns the message for clerks, if the verdict blocks publication.
    pub fn message(&self, judged: Judged, language: Language) -> Option<String> {
        let judged = match judged {
            Judged::Message => guard::MESSAGE,
            Judged::Answer => guard::ANSWER,
        };
        match self {
            Self::Unguarded | Self::Safe => None,
            Self::Unsafe(labels) => {
                Some(guard::OBJECTION.with(language, &[&judged.of(language), &list(labels)]))
            }
            Self::Unavailable(_) => Some(guard::SILENCE.of(language).to_owned()),
        }
    }
}

fn list(labels: &[String]) -> String {
    if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) }
}

/// Returns the guard's labels as a text for the refusal.
pub fn found(labels: &[String]) -> String {
    if labels.is_empty() { "unsafe".to_owned() } else { labels.join(", ") }
}
