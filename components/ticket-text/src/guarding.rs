//! What a guardrail service says of a text, and what follows from it.
//!
//! A guard that objects or cannot be asked keeps a ticket from being published; sorting it and drafting an answer go
//! on, because those harm nobody.

use crate::language::Language;

/// What the host's guard said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No guard is configured.
    Unguarded,
    /// It objects to nothing.
    Safe,
    /// It objects; its words for what it found.
    Unsafe(Vec<String>),
    /// It cannot be asked; the text says why, for the log.
    Unavailable(String),
}

/// What was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// What a customer wrote.
    Message,
    /// What is to be answered to it.
    Answer,
}

/// What follows when the guard calls a text unsafe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Guarding {
    /// There is no guard.
    #[default]
    Off,
    /// It is never published, and no language model is shown it.
    Withhold,
    /// It is refused.
    Refuse,
}

impl Verdict {
    /// Whether answers may be published, as far as the guard is concerned.
    pub fn publishes(&self) -> bool {
        matches!(self, Self::Unguarded | Self::Safe)
    }

    /// Whether a language model may be shown the text.
    pub fn may_be_shown(&self) -> bool {
        !matches!(self, Self::Unsafe(_))
    }

    /// What a clerk reads of it.
    pub fn told(&self, judged: Judged, language: Language) -> Option<String> {
        let german = match judged {
            Judged::Message => "Nachricht",
            Judged::Answer => "Antwort",
        };
        let english = match judged {
            Judged::Message => "message",
            Judged::Answer => "answer",
        };
        match (self, language) {
            (Self::Unguarded | Self::Safe, _) => None,
            (Self::Unsafe(labels), Language::German) => Some(format!(
                "Die Prüfung hat die {german} beanstandet{}; veröffentlicht wird nichts.",
                list(labels)
            )),
            (Self::Unsafe(labels), Language::English) => {
                Some(format!("The guard objects to the {english}{}; nothing is published.", list(labels)))
            }
            (Self::Unavailable(_), Language::German) => {
                Some("Die Prüfung antwortet nicht; veröffentlicht wird nichts.".to_owned())
            }
            (Self::Unavailable(_), Language::English) => {
                Some("The guard does not answer; nothing is published.".to_owned())
            }
        }
    }
}

fn list(labels: &[String]) -> String {
    if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) }
}

/// What a guard found, for whoever is refused.
pub fn found(labels: &[String]) -> String {
    if labels.is_empty() { "unsafe".to_owned() } else { labels.join(", ") }
}
