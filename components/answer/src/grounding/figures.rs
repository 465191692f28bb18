//! Facts that must not be invented: amounts, dates, times, numbers of any kind, and addresses.

use std::collections::BTreeSet;

use bulkhead_ticket_text::numerals::number;

use super::units::{Unit, is_currency, unit};
use crate::lists::figures::{FREE, MULTIPLES, TO};
use crate::terms::words;

/// A figure or an address in a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Figure {
    /// Its normalised spelling.
    pub text: String,
    unit: Option<Unit>,
}

impl Figure {
    /// Returns whether it is an amount of money.
    pub fn is_amount(&self) -> bool {
        self.unit.is_some_and(is_currency)
    }

    /// Returns whether `other` may be the same figure: if both have a unit, the units are equal.
    pub fn is(&self, other: &Self) -> bool {
        let units = self.unit.zip(other.unit);
        self.text == other.text && units.is_none_or(|(one, other)| one == other)
    }
}

/// Returns the figures and addresses of `text`.
pub fn figures(text: &str) -> BTreeSet<Figure> {
    let pieces: Vec<&str> = text.split_whitespace().collect();
    let beside = |at: Option<usize>| at.and_then(|at| pieces.get(at)).copied();
    let figures = pieces.iter().enumerate().filter_map(|(at, piece)| {
        let unit_at = |at: usize| {
            let behind = [1, 2].map(|next| beside(at.checked_add(next)));
            unit(beside(at.checked_sub(1)), beside(Some(at))?, behind)
        };
        // "vier bis fünf Wochen" counts weeks twice.
        let spans = beside(at.checked_add(1)).is_some_and(|next| TO.contains(&next));
        let last =
            || at.checked_add(2).filter(|last| spans && beside(Some(*last)).and_then(figure).is_some());
        Some(Figure { text: figure(piece)?, unit: unit_at(at).or_else(|| unit_at(last()?)) })
    });
    figures.collect()
}

/// Returns whether `text` has more than one amount of money; "free" is one. A number in brackets is a note, not an amount.
pub fn has_several_amounts(text: &str) -> bool {
    let is_note = |piece: &&str| {
        piece.starts_with(['(', '[']) && piece.contains([')', ']']) && !piece.contains(char::is_alphabetic)
    };
    let text: Vec<&str> = text.split_whitespace().filter(|piece| !is_note(piece)).collect();
    let text = text.join(" ");
    figures(&text).iter().filter(|figure| figure.is_amount()).count() + usize::from(is_free(&text)) > 1
}

/// Returns whether `text` says that something costs nothing.
pub fn is_free(text: &str) -> bool {
    words(text).any(|word| FREE.iter().any(|start| word.starts_with(start)))
}

/// Returns the normalised figure or address that `word` is.
pub fn figure(word: &str) -> Option<String> {
    let below_zero =
        word.strip_prefix(['-', '\u{2212}']).is_some_and(|rest| rest.starts_with(char::is_numeric));
    let word = word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
    if is_address(&word) {
        return Some(word);
    }
    if let Some((digits, _)) = MULTIPLES.iter().find(|(_, names)| names.contains(&word.as_str())) {
        return Some((*digits).to_owned());
    }
    if let Some(number) = number(&word) {
        return Some(number.to_string());
    }
    if !word.chars().any(char::is_numeric) {
        return None;
    }
    // 70,00 and 70.00 are 70; 1.200 stays as it is, because its separator is ambiguous.
    let digits: String = word.chars().filter(|sign| sign.is_numeric() || ".,:/-".contains(*sign)).collect();
    let digits = digits.trim_matches(|sign: char| !sign.is_numeric()).replace(',', ".");
    let digits = digits.strip_suffix(".00").unwrap_or(&digits);
    Some(if below_zero { format!("-{digits}") } else { digits.to_owned() })
}

/// Returns whether `word` is an e-mail address, a link or a domain.
pub fn is_address(word: &str) -> bool {
    word.contains('@') || word.contains("://") || has_domain(word)
}

/// Returns whether a part of `word` looks like a domain: labels joined by dots, the last one of letters. `z.B.` does
/// not.
fn has_domain(word: &str) -> bool {
    word.split(|sign: char| !sign.is_alphanumeric() && sign != '.' && sign != '-').any(|part| {
        let Some((name, last)) = part.trim_matches('.').rsplit_once('.') else { return false };
        let top = last.chars().count() >= 2 && last.chars().all(char::is_alphabetic);
        top && name.split('.').all(|label| !label.is_empty()) && name.chars().count() >= 2
    })
}
