//! A passage as the source of statements, parsed as far as needed.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use super::close;
use super::figures::{Figure, figures};
use super::one_line;
use crate::quotable::{Sentence, is_question, sentences};
use crate::terms::Stems;

/// A passage with lazily parsed sentences.
pub struct Source<'a> {
    text: &'a str,
    pub(super) stems: &'a Stems,
    sentences: OnceCell<Vec<Known>>,
    meanings: OnceCell<Vec<Vec<String>>>,
}

/// A sentence of a passage.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) text: String,
    /// The stems of its words.
    pub(super) terms: BTreeSet<String>,
    /// Its figures and addresses.
    pub(super) figures: BTreeSet<Figure>,
    /// Whether it has the form of a heading.
    pub(super) heading: bool,
    /// Whether it states nothing: a question or a heading.
    pub(super) bare: bool,
    /// Indices of the headings above it.
    pub(super) under: Range<usize>,
}

impl Known {
    /// Returns whether it has the figure with the same unit.
    pub(super) fn has_figure(&self, figure: &Figure) -> bool {
        self.figures.iter().any(|own| own.is(figure))
    }
}

impl<'a> Source<'a> {
    /// Wraps the passage `text`, in the language of `stems`.
    pub fn new(text: &'a str, stems: &'a Stems) -> Self {
        Self { text, stems, sentences: OnceCell::new(), meanings: OnceCell::new() }
    }

    /// Returns whether `sentence` is one of its sentences, word for word.
    pub(super) fn has(&self, sentence: &str) -> bool {
        self.place(sentence).is_some()
    }

    /// Returns the index of `sentence`, if it is one of its sentences.
    pub(super) fn place(&self, sentence: &str) -> Option<usize> {
        let sentence = one_line(sentence);
        self.sentences().iter().position(|own| one_line(&own.text) == sentence)
    }

    /// Returns the headings above the sentence at `place`.
    pub(super) fn headings(&self, place: usize) -> &[Known] {
        let under = self.sentences().get(place).map(|one| one.under.clone());
        under.and_then(|under| self.sentences().get(under)).unwrap_or_default()
    }

    /// Returns whether the sentence at `place` is a heading of others.
    pub(super) fn is_over(&self, place: usize) -> bool {
        self.sentences().iter().any(|one| !one.heading && one.under.contains(&place))
    }

    /// Returns its sentences.
    pub(super) fn sentences(&self) -> &[Known] {
        self.sentences.get_or_init(|| {
            let known = |one: Sentence| Known {
                terms: self.stems.terms(&one.text),
                figures: figures(&one.text),
                heading: one.heading,
                bare: one.states_nothing(),
                under: one.under,
                text: one.text,
            };
            sentences(self.text).into_iter().map(known).collect()
        })
    }

    /// Returns whether one of its sentences that are self-contained and no questions means what `sentence` means.
    pub(super) fn says(&self, sentence: &str) -> bool {
        let own = || {
            let texts = self.sentences().iter().map(|one| one.text.as_str());
            let texts = texts.filter(|text| !is_question(text) && !close::starts_with_anaphor(text));
            texts.map(|text| close::meaning(text, self.stems)).collect()
        };
        self.meanings.get_or_init(own).contains(&close::meaning(sentence, self.stems))
    }
}
