//! Whether a sentence is close to its passage: it says what one sentence of the passage says, in its words and their order.
//!
//! So a figure keeps its subject, and no condition is lost. Articles keep their case; other words without a meaning of
//! their own may differ.

use super::figures::{figure, is_address};
use crate::lists::close::{ARTICLES, BINDING, KEPT, PRONOUNS};
use crate::lists::negation;
use crate::terms::{Stems, is_stop, words};

/// Returns whether `text` begins with a word that refers to an earlier sentence.
pub(super) fn starts_with_anaphor(text: &str) -> bool {
    let mut pieces = text.split_whitespace();
    let first = pieces.next().unwrap_or_default();
    if first == "Sie" {
        // German polite address has a plural verb.
        return pieces.next().is_some_and(|verb| !verb.ends_with('n') && verb != "sind");
    }
    words(first).next().is_some_and(|first| PRONOUNS.contains(&first.as_str()))
}

/// Returns the words and figures of `text` that have a meaning, in order, each as all of its forms are: stems, normalised
/// figures, and articles by their case.
pub(super) fn meaning(text: &str, stems: &Stems) -> Vec<String> {
    let text = text.replace('€', " Euro ").replace('%', " Prozent ");
    let of_piece = |piece: &str| {
        let figure = figure(piece);
        let is_figure = figure.is_some();
        let is_whole = is_figure && (is_address(piece) || !piece.contains(char::is_numeric));
        // "20kg" has a unit.
        let words = words(piece).filter(|word| !is_figure || word.chars().all(char::is_alphabetic));
        let words = words.filter_map(|word| of_word(&word, stems)).filter(|_| !is_whole);
        figure.into_iter().chain(words).collect::<Vec<_>>()
    };
    text.split_whitespace().flat_map(of_piece).collect()
}

/// Returns how a word counts; `None` if it has no meaning of its own.
fn of_word(word: &str, stems: &Stems) -> Option<String> {
    let named = |list: &[(&'static str, &[&str])]| {
        list.iter().find(|(_, words)| words.contains(&word)).map(|(name, _)| *name)
    };
    if let Some(name) = named(BINDING).or_else(|| named(ARTICLES)) {
        return Some(name.to_owned());
    }
    if word.starts_with("kein") || negation::WORDS.contains(&word) {
        return Some(word.get(..4).filter(|start| *start == "kein").unwrap_or(word).to_owned());
    }
    match named(KEPT) {
        Some(name) => Some(stems.stem(name)),
        None => (!is_stop(word)).then(|| stems.stem(word)),
    }
}
