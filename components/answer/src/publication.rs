//! Whether an answer may be published without a clerk. Only the configuration says yes; everything else can only say
//! no.

#[cfg(test)]
mod tests;

use bulkhead_answer_configuration::{Category, Configuration};

use crate::guard::Objection;

/// Why an answer is not published.
#[derive(Debug, Clone, PartialEq)]
pub enum Hindrance {
    /// The category is not configured.
    UnknownCategory,
    /// The category does not allow it.
    Category,
    /// The answer is not relevant enough.
    Score {
        /// What it has.
        score: f32,
        /// What it needs.
        needed: f32,
    },
    /// The ticket's language is neither of the two that answers are written in, or cannot be told.
    TicketLanguage,
    /// What the answer rests on, or what is configured, is not in the ticket's language.
    Language,
    /// Sentences that no passage says were taken out.
    Ungrounded,
    /// A guard objects.
    Guard(Objection),
}

/// What speaks for and against an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Relevance of the best document that the answer rests on, 0 to 1; none for a configured answer.
    pub score: Option<f32>,
    /// Whether the ticket is in one of the two languages that answers are written in.
    pub known_language: bool,
    /// Whether it is in the ticket's language.
    pub own_language: bool,
    /// Whether every sentence that was written was grounded.
    pub grounded: bool,
    /// What guards say.
    pub objections: Vec<Objection>,
}

/// What stands against publishing an answer in the category `name`; nothing: it may be published.
pub fn hindrances(configuration: &Configuration, name: &str, record: &Record) -> Vec<Hindrance> {
    let category = configuration.category(name);
    let mut found: Vec<Hindrance> = match category {
        None => vec![Hindrance::UnknownCategory],
        Some(Category { auto_publish: false, .. }) => vec![Hindrance::Category],
        Some(_) => Vec::new(),
    };
    let needed =
        category.map_or(configuration.publish_score, |one| one.threshold.max(configuration.publish_score));
    if let Some(score) = record.score.filter(|score| score.is_nan() || *score < needed) {
        found.push(Hindrance::Score { score, needed });
    }
    // Of a ticket in a third language it is clear that no answer is in it.
    let language = match (record.known_language, record.own_language) {
        (false, _) => Some(Hindrance::TicketLanguage),
        (true, false) => Some(Hindrance::Language),
        (true, true) => None,
    };
    found.extend(language);
    found.extend((!record.grounded).then_some(Hindrance::Ungrounded));
    found.extend(record.objections.iter().cloned().map(Hindrance::Guard));
    found
}
