//! Tokens of a text in order: figures, words, and the function words that change the meaning of what follows.

use super::figures::{figure, is_address};
use crate::lists::{clauses, negation};
use crate::terms::{Stems, is_stop, words};

/// Type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A figure or an address.
    Figure,
    /// A function word that changes the meaning of what follows: `not`, `until`, `at most`.
    Binding,
    /// Any other content word.
    Word,
}

/// A token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The stem of a word, or a normalised figure.
    pub(super) text: String,
    pub(super) kind: Kind,
    /// The article before it, which shows its case.
    pub(super) article: Option<String>,
    /// The word before it, which shows its role when there is no article.
    pub(super) before: Option<String>,
    /// Whether it is capitalised, as German nouns are.
    pub(super) noun: bool,
}

/// Minimum number of letters that two forms of a word share.
const SHORTEST: usize = 4;

impl Token {
    /// Returns whether it is a genitive attribute of the noun before it.
    pub(super) fn belongs_to_last(&self) -> bool {
        self.article.as_deref().is_some_and(|article| clauses::GENITIVE.contains(&article))
    }

    /// Returns whether `other` means the same.
    pub(super) fn says(&self, other: &Self) -> bool {
        self.kind == other.kind && self.is(&other.text)
    }

    /// Returns whether it is `text`, or a word in another inflection.
    pub(super) fn is(&self, text: &str) -> bool {
        let (short, long) =
            if self.text.len() < text.len() { (&*self.text, text) } else { (text, &*self.text) };
        let end = long.strip_prefix(short);
        short == long
            || self.kind == Kind::Word
                && short.chars().nth(SHORTEST - 1).is_some()
                && end.is_some_and(|end| clauses::ENDINGS.contains(&end))
    }
}

/// Returns `text` with unit signs replaced by words.
pub(super) fn spelt(text: &str) -> String {
    text.replace('€', " Euro ").replace('%', " Prozent ")
}

/// Tokenizes a text piece by piece.
pub(super) struct Reader<'s> {
    stems: &'s Stems,
    article: Option<String>,
    before: Option<String>,
}

impl<'s> Reader<'s> {
    /// Starts at the beginning of a text.
    pub(super) fn new(stems: &'s Stems) -> Self {
        Self { stems, article: None, before: None }
    }

    /// Returns the tokens of `piece`, which has no white space.
    pub(super) fn read(&mut self, piece: &str) -> Vec<Token> {
        let mut read = Vec::new();
        let figure = figure(piece);
        let is_figure = figure.is_some();
        read.extend(figure.map(|text| self.token(text, Kind::Figure, false)));
        if is_figure && (is_address(piece) || piece.chars().all(|sign| !sign.is_numeric())) {
            return read;
        }
        let noun = piece.chars().find(|sign| sign.is_alphanumeric()).is_some_and(char::is_uppercase);
        for word in words(piece).filter(|word| !is_figure || word.chars().all(char::is_alphabetic)) {
            read.extend(self.word(&word, noun));
        }
        read
    }

    fn word(&mut self, word: &str, noun: bool) -> Option<Token> {
        let counts_as = |list: &[(&str, &[&str])]| {
            list.iter().find(|(_, words)| words.contains(&word)).map(|(same, _)| (*same).to_owned())
        };
        if word.starts_with("kein") {
            return Some(self.token("kein".to_owned(), Kind::Binding, false));
        }
        if negation::WORDS.contains(&word) {
            return Some(self.token(word.to_owned(), Kind::Binding, false));
        }
        if let Some(text) = counts_as(clauses::BINDING) {
            return Some(self.token(text, Kind::Binding, false));
        }
        let stem = |text: String| self.stems.stem(&text);
        if let Some(text) = counts_as(clauses::KEPT).map(stem) {
            return Some(self.token(text, Kind::Word, noun));
        }
        if is_stop(word) {
            self.article = clauses::ARTICLES.contains(&word).then(|| word.to_owned());
            self.before = Some(word.to_owned());
            return None;
        }
        let text = self.stems.stem(word);
        Some(self.token(text, Kind::Word, noun))
    }

    fn token(&mut self, text: String, kind: Kind, noun: bool) -> Token {
        let before = self.before.replace(text.clone());
        Token { text, kind, article: self.article.take(), before, noun }
    }
}

/// Returns the tokens of `text`.
pub(super) fn tokens(text: &str, stems: &Stems) -> Vec<Token> {
    let mut reader = Reader::new(stems);
    spelt(text).split_whitespace().flat_map(|piece| reader.read(piece)).collect()
}
