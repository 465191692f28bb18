//! What a ticket asks, as words with weights.

use std::collections::{BTreeMap, BTreeSet};

use super::Asked;
use crate::sentences::sentences;
use crate::terms::{Stems, said};

/// What a word outside of a question is worth, where there are questions.
const BESIDE: f32 = 0.5;

/// The words of a question and what it asks for.
pub struct Question {
    terms: BTreeMap<String, f32>,
    asked: Asked,
}

impl Question {
    /// Reads `text`; the fewer of the `candidates` say a word, the more it weighs.
    pub fn new<'a>(
        text: &str,
        stems: &Stems,
        candidates: impl Iterator<Item = &'a BTreeSet<String>> + Clone,
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
        let count = candidates.clone().count() as f32;
        for (term, weight) in &mut terms {
            let frequency = candidates.clone().filter(|one| said(term, one) > 0.0).count() as f32;
            *weight *= (1.0 + count / (1.0 + frequency)).ln();
        }
        Self { terms, asked: Asked::of(text) }
    }

    /// Its words and what each is worth.
    pub fn terms(&self) -> impl Iterator<Item = (&str, f32)> {
        self.terms.iter().map(|(term, weight)| (term.as_str(), *weight))
    }

    /// What it asks for.
    pub fn asked(&self) -> Asked {
        self.asked
    }
}
