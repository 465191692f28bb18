//! A passage that is asked what it says, read as far as it is asked.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::clauses::{Clause, clauses};
use super::figures::{Figure, figures};
use super::one_line;
use crate::sentences::sentences;
use crate::terms::Stems;

/// A passage.
pub struct Source<'a> {
    text: &'a str,
    pub(super) stems: &'a Stems,
    lines: OnceCell<Vec<String>>,
    sentences: OnceCell<Vec<Known>>,
    clauses: OnceCell<Vec<Clause>>,
}

/// A sentence of a passage.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) text: String,
    /// The stems of its words.
    pub(super) terms: BTreeSet<String>,
    /// Its figures and addresses.
    figures: BTreeSet<Figure>,
}

impl Known {
    /// Whether it has the figure, and counts the same by it.
    pub(super) fn bears(&self, figure: &Figure) -> bool {
        self.figures.iter().any(|own| own.is(figure))
    }
}

impl<'a> Source<'a> {
    /// The passage `text` in the language of `stems`.
    pub fn new(text: &'a str, stems: &'a Stems) -> Self {
        let (lines, sentences, clauses) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { text, stems, lines, sentences, clauses }
    }

    /// Whether `sentence` is one of its own, word for word.
    pub(super) fn has(&self, sentence: &str) -> bool {
        let own = || sentences(self.text).iter().map(|one| one_line(&one.text)).collect();
        self.lines.get_or_init(own).contains(&one_line(sentence))
    }

    /// Its sentences.
    pub(super) fn sentences(&self) -> &[Known] {
        self.sentences.get_or_init(|| {
            let known =
                |text: String| Known { terms: self.stems.terms(&text), figures: figures(&text), text };
            sentences(self.text).into_iter().map(|one| known(one.text)).collect()
        })
    }

    /// Its clauses.
    pub(super) fn clauses(&self) -> &[Clause] {
        let own = || clauses(self.sentences().iter().map(|one| one.text.as_str()), self.stems);
        self.clauses.get_or_init(own)
    }
}
