//! Whether a passage says what an answer claims it says.
//!
//! A sentence that stands in the passage word for word is grounded. One in other words must bring nothing new: no
//! figure, address or number that the passage lacks, few words that it does not have, and no `not` where it has none.
//! The check is of words, so it refuses some sentences that a reader would accept; it is not fooled by fluency.

mod figures;
mod quote;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use bulkhead_ticket_text::language::Language;

use crate::passage::Passage;
use crate::sentences::sentences;
use crate::statement::{Grounded, Statement};
use crate::terms::{Stems, said, words};

/// Share of a sentence's words that the passage must have: one of four may be the writer's own.
const LEAST_SAID: f32 = 0.75;

/// Words that answer a question by themselves, which no passage has been asked.
const ASSENT: &[&str] = &["ja", "nein", "doch", "yes", "no"];

/// Words that turn a sentence into its opposite.
const NEGATIONS: &[&str] = &[
    "nicht",
    "nichts",
    "kein",
    "keine",
    "keinem",
    "keinen",
    "keiner",
    "keines",
    "keinerlei",
    "nie",
    "niemals",
    "niemand",
    "ohne",
    "weder",
    "not",
    "no",
    "none",
    "nothing",
    "nobody",
    "never",
    "without",
    "neither",
    "nor",
    "cannot",
    "isn",
    "aren",
    "doesn",
    "don",
    "won",
];

/// Why a sentence is not grounded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ungrounded {
    /// The sentence has no words, or none that mean anything by themselves.
    #[error("the sentence says nothing")]
    Empty,
    /// A figure or an address.
    #[error("`{0}` does not stand in the passage")]
    Figure(String),
    /// Too many words that the passage does not have.
    #[error("the passage does not speak of {}", .0.join(", "))]
    Words(Vec<String>),
    /// The one says that something is so, the other that it is not.
    #[error("the sentence and the passage contradict each other")]
    Negation,
}

/// Those of `statements` that a passage which they name says all alone, each with the first such passage.
pub fn grounded(statements: &[Statement], passages: &[Passage], language: Language) -> Vec<Grounded> {
    let ground = |statement: &Statement| {
        let mut named = statement.passages.iter();
        let passage = *named.find(|index| {
            passages.get(**index).is_some_and(|one| check(&statement.text, &one.text, language).is_ok())
        })?;
        let quote = quote::quote(&statement.text, &passages.get(passage)?.text, language);
        let text = statement.text.clone();
        Some(Grounded { text, passage, quote: quote.text, has_figures: quote.has_figures })
    };
    statements.iter().filter_map(ground).collect()
}

/// Checks that `passage` says `sentence`, both in `language`.
///
/// # Errors
///
/// With what the passage does not say.
pub fn check(sentence: &str, passage: &str, language: Language) -> Result<(), Ungrounded> {
    let Some(first) = words(sentence).next() else { return Err(Ungrounded::Empty) };
    if one_line(passage).contains(&one_line(sentence)) {
        return Ok(());
    }
    if ASSENT.contains(&first.as_str()) && words(passage).all(|word| word != first) {
        return Err(Ungrounded::Words(vec![first]));
    }
    let (stated, known) = (figures::figures(sentence), figures::figures(passage));
    if let Some(new) = stated.difference(&known).next() {
        return Err(Ungrounded::Figure(new.clone()));
    }
    let stems = Stems::new(language);
    let (claimed, given) = (stems.terms(sentence), stems.terms(passage));
    let is_figure = |term: &&String| term.chars().any(char::is_numeric);
    let claimed: BTreeSet<String> = claimed
        .iter()
        .filter(|term| !is_figure(term) && !NEGATIONS.contains(&term.as_str()))
        .cloned()
        .collect();
    let share = |given: &BTreeSet<String>| {
        let said: f32 = claimed.iter().map(|term| said(term, given)).sum();
        said / claimed.len().max(1) as f32
    };
    if claimed.is_empty() && stated.is_empty() {
        return Err(Ungrounded::Empty);
    }
    if !claimed.is_empty() && share(&given) < LEAST_SAID {
        let unsaid = claimed.iter().filter(|term| said(term, &given) == 0.0).cloned();
        return Err(Ungrounded::Words(unsaid.collect()));
    }
    let nearest = sentences(passage).into_iter().map(|one| (share(&stems.terms(&one.text)), one.text));
    let nearest = nearest.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, text)| text);
    match nearest.is_some_and(|nearest| is_negated(&nearest) != is_negated(sentence)) {
        true => Err(Ungrounded::Negation),
        false => Ok(()),
    }
}

fn is_negated(text: &str) -> bool {
    words(text).any(|word| NEGATIONS.contains(&word.as_str()))
}

/// `text` with single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
