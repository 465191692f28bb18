//! Restores umlauts written as two letters.

use std::borrow::Cow;

use crate::language;
use crate::lists::umlauts::WITHOUT;

/// Returns `word` with umlauts for the two letters that replace them: `gebühr` for `gebuehr`, but not `neü` for
/// `neue`. An unlisted word without umlauts may get one by mistake.
pub fn umlauted(word: &str) -> Cow<'_, str> {
    if !has_two(word) || is_listed(word) {
        return Cow::Borrowed(word);
    }
    let mut written = String::with_capacity(word.len());
    for letter in word.chars() {
        match umlaut(&written).filter(|_| letter == 'e') {
            Some(umlaut) => {
                written.pop();
                written.push(umlaut);
            }
            None => written.push(letter),
        }
    }
    Cow::Owned(written)
}

/// Returns whether `text` has the two letters anywhere.
fn has_two(text: &str) -> bool {
    let is = |pair: &[u8]| matches!(pair, [b'a' | b'o' | b'u' | b'A' | b'O' | b'U', b'e']);
    text.as_bytes().windows(2).any(is)
}

/// Returns the umlaut for the last letter of `written` and a following `e`; `None` in `bauen`, `neue` and `quer`.
fn umlaut(written: &str) -> Option<char> {
    let mut letters = written.chars().rev();
    let umlaut = match letters.next()? {
        'a' => 'ä',
        'o' => 'ö',
        'u' => 'ü',
        'A' => 'Ä',
        'O' => 'Ö',
        'U' => 'Ü',
        _ => return None,
    };
    letters.next().is_none_or(|before| !"aeiouqAEIOUQ".contains(before)).then_some(umlaut)
}

fn is_listed(word: &str) -> bool {
    let word = word.to_lowercase();
    WITHOUT.iter().any(|part| word.contains(part))
}

/// Returns whether `text` is German without umlauts.
pub(super) fn lacks_umlauts(text: &str) -> bool {
    !text.contains(['ä', 'ö', 'ü', 'ß', 'Ä', 'Ö', 'Ü'])
        && has_two(text)
        && language::detect(text).is_none_or(|code| code == "de")
}
