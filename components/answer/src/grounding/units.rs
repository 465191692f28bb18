//! Units of figures.

use crate::lists::figures::{LEADING, UNITS, WORKING};

/// A unit, by its canonical name.
pub(super) type Unit = &'static str;

/// Signs written directly next to a figure: "70€".
const SIGNS: [char; 4] = ['€', '%', '$', '£'];

/// Returns whether `unit` is a currency.
pub(super) fn is_currency(unit: Unit) -> bool {
    unit == "cent" || LEADING.contains(&unit)
}

/// Returns the unit of the figure `piece`, given the piece before it and the two `behind` it; `None` if there is no
/// unit: "24" of "wer jünger als 24 ist".
pub(super) fn unit(before: Option<&str>, piece: &str, behind: [Option<&str>; 2]) -> Option<Unit> {
    if let Some(sign) = piece.chars().find(|sign| SIGNS.contains(sign)) {
        return named(sign.encode_utf8(&mut [0; 4]));
    }
    // "20kg", "8pm"
    let figure = piece.trim_start_matches(|sign: char| !sign.is_numeric());
    let touching = figure.trim_start_matches(|sign: char| sign.is_numeric() || ",.:".contains(sign));
    if let Some(unit) = Some(touching).filter(|_| figure.len() > touching.len()).and_then(named) {
        return Some(unit);
    }
    let continues = |piece: &str| !piece.ends_with(|sign: char| ",;.:!?)".contains(sign));
    let behind = match behind {
        _ if !continues(piece) => None,
        [Some(next), Some(days)] if WORKING.contains(&next.to_lowercase().as_str()) => {
            named(days).map(|unit| if unit == "day" { "working day" } else { unit })
        }
        [next, _] => next.and_then(named),
    };
    let leading = || before.filter(|before| continues(before)).and_then(named);
    behind.or_else(|| leading().filter(|unit| LEADING.contains(unit)))
}

/// Returns the unit that a word or sign names.
pub(super) fn named(piece: &str) -> Option<Unit> {
    let word =
        piece.trim_matches(|sign: char| !sign.is_alphanumeric() && !SIGNS.contains(&sign)).to_lowercase();
    UNITS.iter().find(|(_, names)| names.contains(&word.as_str())).map(|(unit, _)| *unit)
}
