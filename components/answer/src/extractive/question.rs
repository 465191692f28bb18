//! What a ticket asks, as words with weights.

use std::collections::{BTreeMap, BTreeSet};

use super::Asked;
use crate::sentences::sentences;
use crate::terms::{Stems, said};

/// What a word outside of a question is worth, where there are questions.
const BESIDE: f32 = 0.5;

/// The words of a question, what each is worth, and whether its candidates have what it asks for.
pub struct Question {
    weights: Vec<f32>,
    /// How far each candidate says each of the words.
    said: Vec<Vec<f32>>,
    /// Whether each candidate has the kind of thing that is asked for.
    met: Vec<bool>,
}

impl Question {
    /// Reads `text`; the fewer of the `candidates`, sentences with their stems, say a word, the more it weighs.
    pub fn new<'a>(
        text: &str,
        stems: &Stems,
        candidates: impl Iterator<Item = (&'a str, &'a BTreeSet<String>)>,
    ) -> Self {
        let sentences = sentences(text);
        let asks = |text: &str| text.contains('?');
        let any = sentences.iter().any(|sentence| asks(&sentence.text));
        let mut terms: BTreeMap<String, f32> = BTreeMap::new();
        for sentence in &sentences {
            let share = if any && !asks(&sentence.text) { BESIDE } else { 1.0 };
            for term in stems.terms(&sentence.text) {
                let known = terms.entry(term).or_default();
                *known = known.max(share);
            }
        }
        let asked = Asked::of(text);
        let (said, met): (Vec<Vec<f32>>, Vec<bool>) = candidates
            .map(|(sentence, stems)| {
                (terms.keys().map(|term| said(term, stems)).collect(), asked.is_met_by(sentence))
            })
            .unzip();
        let rare = |term: usize| {
            let frequency = said.iter().filter(|one| one.get(term).is_some_and(|said| *said > 0.0)).count();
            (1.0 + said.len() as f32 / (1.0 + frequency as f32)).ln()
        };
        let weights = terms.values().enumerate().map(|(term, share)| share * rare(term)).collect();
        Self { weights, said, met }
    }

    /// How far the candidate at `index` says each word.
    pub fn said_by(&self, index: usize) -> &[f32] {
        self.said.get(index).map_or(&[], Vec::as_slice)
    }

    /// What each word is worth.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Whether the candidate at `index` has the kind of thing that is asked for.
    pub fn is_met_by(&self, index: usize) -> bool {
        self.met.get(index).is_some_and(|met| *met)
    }
}
