//! Searches a text for many words: most of them have two letters in a row that the text has nowhere.

/// Number of words of bits for pairs of bytes, one bit each: many more than a line has.
const WORDS: usize = 16;

/// The pairs of bytes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs([u64; WORDS]);

impl Pairs {
    /// Reads `text`.
    pub fn of(text: &str) -> Self {
        let mut pairs = Self([0; WORDS]);
        for (place, bit) in places(text) {
            if let Some(bits) = pairs.0.get_mut(place) {
                *bits |= bit;
            }
        }
        pairs
    }

    /// Returns whether the text may contain `word`: `false` only if it does not.
    pub fn may_hold(&self, word: &str) -> bool {
        places(word).all(|(place, bit)| self.0.get(place).is_some_and(|bits| bits & bit != 0))
    }
}

/// Returns whether `text` contains one of `words`.
pub fn contains_any(text: &str, words: &[&str]) -> bool {
    let pairs = Pairs::of(text);
    words.iter().any(|word| pairs.may_hold(word) && text.contains(word))
}

/// Returns the place and the bit of each pair of bytes.
fn places(text: &str) -> impl Iterator<Item = (usize, u64)> {
    text.as_bytes().windows(2).map(|pair| {
        let hash = pair.iter().fold(0, |hash, byte| hash * 31 + usize::from(*byte));
        (hash / 64 % WORDS, 1 << (hash % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_text_may_be_held() {
        let text = "Straße, Öl und 1 €";
        let pairs = Pairs::of(text);
        for (from, _) in text.char_indices() {
            for (to, _) in text.char_indices().filter(|(to, _)| *to >= from) {
                let part = text.get(from..to).unwrap_or_default();
                assert!(pairs.may_hold(part) && contains_any(text, &["x", part]), "{part}");
            }
        }
        assert!(!pairs.may_hold("Wasser") && Pairs::of("").may_hold(""));
    }

    #[test]
    fn words_are_found_whole() {
        assert!(!contains_any("ab bc", &["abc", "d"]) && !contains_any("", &["a"]));
        assert!(contains_any("ab bc", &["d", "b b"]) && contains_any("a", &[""]));
    }
}
