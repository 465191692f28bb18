//! Decision whether an answer may be published without a clerk. Only the configuration allows it; all else can only
//! forbid it.

#[cfg(test)]
mod tests;

use bulkhead_answer_configuration::{Category, Configuration};

use crate::guard::GuardFinding;
use crate::signs::Certainty;

/// A reason against publishing an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum PublishBlocker {
    /// The category is not configured.
    UnknownCategory,
    /// The category does not allow it.
    Category,
    /// It is not certain enough that the answer is the right one.
    Uncertain {
        /// How certain it is.
        certainty: Certainty,
        /// The required probability.
        needed: f32,
    },
    /// The ticket's language is neither German nor English, or cannot be detected.
    TicketLanguage,
    /// The passages or the configured answer are not in the ticket's language.
    Language,
    /// Sentences without support were removed.
    Ungrounded,
    /// A check found something.
    Guard(GuardFinding),
}

/// The facts for and against publishing an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// How certain it is that the answer is the right one; `None` for a configured answer.
    pub certainty: Option<Certainty>,
    /// Whether the ticket is in German or English.
    pub known_language: bool,
    /// Whether the answer is in the ticket's language.
    pub own_language: bool,
    /// Whether every written sentence was grounded.
    pub grounded: bool,
    /// Findings of the checks.
    pub findings: Vec<GuardFinding>,
}

/// Returns the reasons against publishing an answer in the category `name`; if empty, it may be published.
pub fn publish_blockers(configuration: &Configuration, name: &str, record: &Record) -> Vec<PublishBlocker> {
    let category = configuration.category(name);
    let mut found: Vec<PublishBlocker> = match category {
        None => vec![PublishBlocker::UnknownCategory],
        Some(Category { auto_publish: false, .. }) => vec![PublishBlocker::Category],
        Some(_) => Vec::new(),
    };
    let needed = configuration.publish_score;
    let is_enough = |certainty: &Certainty| certainty.probability() >= needed;
    let uncertain = record.certainty.filter(|certainty| !is_enough(certainty));
    found.extend(uncertain.map(|certainty| PublishBlocker::Uncertain { certainty, needed }));
    // No answer is in the language of a ticket in a third language.
    let language = match (record.known_language, record.own_language) {
        (false, _) => Some(PublishBlocker::TicketLanguage),
        (true, false) => Some(PublishBlocker::Language),
        (true, true) => None,
    };
    found.extend(language);
    found.extend((!record.grounded).then_some(PublishBlocker::Ungrounded));
    found.extend(record.findings.iter().cloned().map(PublishBlocker::Guard));
    found
}
