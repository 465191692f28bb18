//! SentencePiece's precompiled character map (`nmt_nfkc` and the like), applied as `tokenizers` applies it.
//!
//! The map is a double-array trie over UTF-8 whose values point into a text of replacements, each ended by a zero
//! byte (format: `Normalizer::DecodePrecompiledCharsMap` of SentencePiece). `tokenizers` looks a whole grapheme
//! cluster up if it is shorter than 6 bytes, takes the shortest match for all of it, and else each code point.

use unicode_segmentation::UnicodeSegmentation;

/// A character map; both parts lie in the compact form.
#[derive(Clone, Copy)]
pub(super) struct Charsmap<'a> {
    units: &'a [u32],
    replacements: &'a [u8],
}

/// The result of mapping a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapped<'a> {
    /// Nothing: it stays.
    Same,
    /// Something else, perhaps empty.
    To(&'a str),
    /// The map is broken here; the reference may say how.
    Broken,
}

/// Splits a map of a `tokenizer.json` into the trie's units (little-endian) and the replacements.
pub(super) fn split(blob: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, rest) = blob.split_first_chunk::<4>()?;
    let size = usize::try_from(u32::from_le_bytes(*size)).ok()? / 4 * 4;
    let (units, replacements) = rest.split_at_checked(size)?;
    std::str::from_utf8(replacements).is_ok().then_some((units, replacements))
}

impl<'a> Charsmap<'a> {
    /// Wraps the parts of a map. Any contents are safe.
    pub(super) fn new(units: &'a [u32], replacements: &'a [u8]) -> Self {
        Self { units, replacements }
    }

    /// Looks a piece of text up.
    pub(super) fn get(self, piece: &str) -> Mapped<'a> {
        match self.find(piece.as_bytes()) {
            Ok(None) => Mapped::Same,
            Ok(Some(value)) => self.replacement(value).map_or(Mapped::Broken, Mapped::To),
            Err(Broken) => Mapped::Broken,
        }
    }

    /// Returns the value of the shortest key that the piece begins with.
    fn find(self, piece: &[u8]) -> Result<Option<u32>, Broken> {
        let unit = |at: u32| self.units.get(at as usize).map(|unit| u32::from_le(*unit)).ok_or(Broken);
        let offset = |unit: u32| (unit >> 10) << ((unit & (1 << 9)) >> 6);
        let mut at = offset(unit(0)?);
        for byte in piece {
            if *byte == 0 {
                break;
            }
            at ^= u32::from(*byte);
            let here = unit(at)?;
            if here & (1 << 31 | 0xff) != u32::from(*byte) {
                break;
            }
            at ^= offset(here);
            if here >> 8 & 1 == 1 {
                return Ok(Some(unit(at)? & !(1 << 31)));
            }
        }
        Ok(None)
    }

    fn replacement(self, value: u32) -> Option<&'a str> {
        let rest = self.replacements.get(value as usize..)?;
        let len = memchr::memchr(0, rest).unwrap_or(rest.len());
        std::str::from_utf8(rest.get(..len)?).ok()
    }

    /// Hands a text's characters on as the map has them; `None` where the map is broken. `text` begins where a
    /// grapheme cluster begins. Returns how many bytes of it were done: one cluster.
    pub(super) fn cluster(self, text: &str, mut put: impl FnMut(&str)) -> Option<usize> {
        let cluster = text.graphemes(true).next()?;
        if cluster.len() < 6 {
            match self.get(cluster) {
                Mapped::To(other) => {
                    put(other);
                    return Some(cluster.len());
                }
                Mapped::Broken => return None,
                Mapped::Same => {}
            }
        }
        for (at, character) in cluster.char_indices() {
            let part = cluster.get(at..at + character.len_utf8())?;
            match self.get(part) {
                Mapped::To(other) => put(other),
                Mapped::Same => put(part),
                Mapped::Broken => return None,
            }
        }
        Some(cluster.len())
    }
}

struct Broken;

/// Returns whether a character is a grapheme cluster of its own next to any other character of this kind: it neither
/// extends what precedes it nor is extended by what follows, as combining marks, joiners, Hangul, regional indicators
/// and a carriage return before a line feed are. Many such characters are here, not all.
pub(super) fn stands_alone(character: char) -> bool {
    matches!(character,
        '\0'..='\u{c}' | '\u{e}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{5d0}'..='\u{5ea}' | '\u{621}'..='\u{64a}' | '\u{904}'..='\u{939}' | '\u{e01}'..='\u{e30}'
        | '\u{1e00}'..='\u{1fff}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2070}'..='\u{20cf}'
        | '\u{2100}'..='\u{2bff}' | '\u{3000}'..='\u{3029}' | '\u{3031}'..='\u{3098}' | '\u{309b}'..='\u{30ff}'
        | '\u{3400}'..='\u{a48c}' | '\u{ff01}'..='\u{ff9d}' | '\u{1f300}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn lone_characters_form_separate_clusters() {
        // every one but of the large uniform blocks
        let asked = ('\0'..='\u{33ff}').chain(('\u{3400}'..='\u{1ffff}').step_by(3));
        let alone: Vec<char> = asked.filter(|character| stands_alone(*character)).collect();
        assert!(alone.len() > 15_000);
        let samples = [
            'a',
            ' ',
            '\n',
            'ü',
            'क',
            '中',
            '★',
            '\u{1f600}',
            '\u{1f1e6}',
            '\u{1100}',
            '\u{1161}',
            '\u{11a8}',
            '각',
        ];
        for character in alone {
            for sample in samples {
                for pair in [String::from_iter([sample, character]), String::from_iter([character, sample])] {
                    assert_eq!(pair.graphemes(true).count(), 2, "{pair:?}");
                }
            }
        }
    }
}
