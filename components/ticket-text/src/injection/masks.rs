//! Normalises look-alike letters.

use crate::lists::masks::LETTERS;

/// Returns whether a character is invisible and can carry text: tags and direction overrides.
pub(super) fn is_hidden(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}' | '\u{202d}' | '\u{202e}')
}

/// Returns `text` in lower case and plain letters: drops characters without width, and maps wide, mathematical and
/// circled letters, and Cyrillic and Greek ones in words that also have Latin letters.
pub(super) fn unmasked(text: &str) -> String {
    let plain: String = text.chars().filter_map(plain).collect();
    let mut unmasked = String::with_capacity(plain.len());
    for word in plain.split_inclusive(|character: char| !character.is_alphanumeric()) {
        if word.chars().any(|letter| letter.is_ascii_alphabetic()) && !word.is_ascii() {
            unmasked.extend(word.chars().map(latin));
        } else {
            unmasked.push_str(word);
        }
    }
    unmasked.to_lowercase()
}

fn plain(character: char) -> Option<char> {
    let at = |first: u32| u32::from(character) - first;
    let letter = |place: u32| {
        let (first, place) = if place < 26 { ('A', place) } else { ('a', place - 26) };
        char::from_u32(u32::from(first) + place)
    };
    match character {
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(at(0xff01) + 0x21),
        '\u{1d400}'..='\u{1d6a3}' => letter(at(0x1d400) % 52),
        '\u{24b6}'..='\u{24e9}' => letter(at(0x24b6)),
        other => Some(other),
    }
}

/// Returns the Latin letter, in lower case, that a Cyrillic or Greek one resembles.
fn latin(letter: char) -> char {
    let resembles = |others: &[&str]| others.iter().any(|other| other.starts_with(letter));
    let latin = LETTERS.iter().find(|(_, others)| resembles(others));
    latin.and_then(|(latin, _)| latin.chars().next()).unwrap_or(letter)
}
