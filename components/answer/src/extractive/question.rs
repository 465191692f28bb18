//! The question of a ticket as weighted words.

use std::collections::BTreeMap;

use super::Candidate;
use crate::answer_types::AnswerTypes;
use crate::sentences::sentences;
use crate::terms::{self, Stems, match_score};

/// Weight of a word outside questions, if the ticket has questions.
const BESIDE: f32 = 0.5;
/// Weight of a word in a heading for a sentence below it, against a word of its own.
const UNDER: f32 = 0.6;

/// The words of a question with their weights, and how each candidate matches them.
pub(super) struct Question {
    weights: Vec<f32>,
    /// Match of each candidate with each word.
    scores: Vec<Vec<f32>>,
    /// Whether each candidate has the expected answer type.
    met: Vec<bool>,
    /// Total weight of the words in the title of each candidate's document.
    titled: Vec<f32>,
    asked: AnswerTypes,
}

impl Question {
    /// Reads `text`. A word weighs more the fewer `candidates` have it.
    pub(super) fn new(text: &str, stems: &Stems, candidates: &[Candidate]) -> Self {
        let sentences = sentences(text);
        let asks = |text: &str| text.contains('?');
        let any = sentences.iter().any(|sentence| asks(&sentence.text));
        let mut terms: BTreeMap<String, f32> = BTreeMap::new();
        for sentence in &sentences {
            let share = if any && !asks(&sentence.text) { BESIDE } else { 1.0 };
            for term in stems.terms_and_verbs(&sentence.text) {
                let known = terms.entry(term).or_default();
                *known = known.max(share);
            }
        }
        let asked = AnswerTypes::of(text);
        let met = candidates.iter().map(|one| asked.is_met_by(&one.sentence.text)).collect();
        let scores_of = |one: &Candidate| {
            let score =
                |term: &String| match_score(term, &one.terms).max(UNDER * match_score(term, &one.headings));
            terms.keys().map(score).collect::<Vec<f32>>()
        };
        let scores: Vec<Vec<f32>> = candidates.iter().map(scores_of).collect();
        let rare = |term: usize| {
            let frequency =
                scores.iter().filter(|one| one.get(term).is_some_and(|score| *score > 0.0)).count();
            (1.0 + scores.len() as f32 / (1.0 + frequency as f32)).ln()
        };
        let weights: Vec<f32> = terms.values().enumerate().map(|(term, share)| share * rare(term)).collect();
        let titled = |one: &Candidate| {
            let weighted = terms
                .keys()
                .zip(&weights)
                .map(|(term, weight)| weight * terms::match_score(term, &one.title));
            weighted.sum()
        };
        let titled = candidates.iter().map(titled).collect();
        Self { weights, scores, met, titled, asked }
    }

    /// Returns whether the question asks for a price.
    pub(super) fn asks_for_amount(&self) -> bool {
        self.asked.asks_for_amount()
    }

    /// Returns how well the candidate at `index` matches each word.
    pub(super) fn scores(&self, index: usize) -> &[f32] {
        self.scores.get(index).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the candidate at `index` has one of the words.
    pub(super) fn has_word(&self, index: usize) -> bool {
        self.scores(index).iter().any(|score| *score > 0.0)
    }

    /// Returns the weight of each word.
    pub(super) fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns the total weight of the words in the title above the candidate at `index`.
    pub(super) fn titled(&self, index: usize) -> f32 {
        self.titled.get(index).copied().unwrap_or_default()
    }

    /// Returns whether the candidate at `index` has the expected answer type.
    pub(super) fn is_met_by(&self, index: usize) -> bool {
        self.met.get(index).is_some_and(|met| *met)
    }
}
