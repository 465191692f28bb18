//! SentencePiece's precompiled character map: a double-array trie from UTF-8 sequences to replacements.
//!
//! Format (Apache-2.0 projects `sentencepiece` and `darts-clone`): trie size in bytes (u32), the trie's units (u32
//! each), then the replacements, each ended by a zero byte. A unit holds its label in bits 0-7, "a value follows" in
//! bit 8, and the offset to its children in bits 10-31 (times 256 if bit 9 is set); a child is at `parent ^ offset ^
//! label`, a value at `parent ^ offset` with bit 31 set. All numbers little-endian.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use tokenizers::NormalizedString;

/// The highest code point whose canonical decomposition is asked for; no shorter decompositions lie above.
const LAST: u32 = 0x2_FFFF;

/// Keys of this many bytes or more never match: the reference looks up whole graphemes below this length, and
/// single characters otherwise.
const GRAPHEME_BYTES: usize = 6;

/// Deprecated combining marks and the marks that replace them.
const DEPRECATED_MARKS: [(char, char); 3] =
    [('\u{300}', '\u{340}'), ('\u{301}', '\u{341}'), ('\u{313}', '\u{343}')];

/// Adds the canonical compositions (`u` + U+0308 becomes `ü`) that a map of single characters cannot express; text in
/// decomposed form would else lose its accents to unknown pieces.
pub fn compose(map: &mut BTreeMap<String, String>) {
    for (spelling, composed) in COMPOSITIONS.iter() {
        map.entry(spelling.clone()).or_insert_with(|| composed.clone());
    }
}

/// Decomposed spellings short enough to be looked up, and their composed characters.
static COMPOSITIONS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for character in (0..=LAST).filter_map(char::from_u32) {
        let decomposed = normalized(&character.to_string(), |text| {
            text.nfd();
        });
        if decomposed.chars().nth(1).is_none() {
            continue;
        }
        let mut spellings = vec![decomposed.clone()];
        for (mark, deprecated) in DEPRECATED_MARKS {
            if decomposed.contains(mark) {
                spellings.push(decomposed.replace(mark, &deprecated.to_string()));
            }
        }
        for spelling in spellings.into_iter().filter(|spelling| spelling.len() < GRAPHEME_BYTES) {
            let composed = normalized(&spelling, |text| {
                text.nfkc();
            });
            if composed != spelling {
                found.push((spelling, composed));
            }
        }
    }
    found
});

fn normalized(text: &str, form: impl Fn(&mut NormalizedString)) -> String {
    let mut text = NormalizedString::from(text);
    form(&mut text);
    text.get().to_owned()
}

/// Lays a map out in the format above; `None` if the map or a key is empty, holds a zero byte, or the map is too large.
pub fn encode(map: &BTreeMap<String, String>) -> Option<Vec<u8>> {
    let mut replacements = Vec::new();
    let mut places = BTreeMap::new();
    let mut keys = Vec::new();
    for (key, replacement) in map {
        if key.is_empty() || key.contains('\0') || replacement.contains('\0') {
            return None;
        }
        let place = *places.entry(replacement.as_str()).or_insert_with(|| {
            let place = replacements.len();
            replacements.extend_from_slice(replacement.as_bytes());
            replacements.push(0);
            place
        });
        keys.push((key.as_bytes(), u32::try_from(place).ok().filter(|place| *place < 1 << 31)?));
    }
    let mut trie = Trie::default();
    trie.insert(0, 0, &keys)?;
    trie.units.resize(trie.units.len().next_multiple_of(256), 0);
    let size = u32::try_from(trie.units.len() * size_of::<u32>()).ok()?;
    let mut bytes = size.to_le_bytes().to_vec();
    bytes.extend(trie.units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes.extend(replacements);
    Some(bytes)
}

#[derive(Default)]
struct Trie {
    units: Vec<u32>,
    taken: Vec<bool>,
    /// A child knows its label but not its parent: two nodes with one base would have each other's children.
    bases: HashSet<u32>,
    /// No free place lies before this one.
    first_free: u32,
}

impl Trie {
    /// Places the children of the node at `node`: all keys here share their first `depth` bytes; they are sorted.
    fn insert(&mut self, node: u32, depth: usize, keys: &[(&[u8], u32)]) -> Option<()> {
        let value = keys.first().filter(|(key, _)| key.len() == depth).map(|(_, value)| *value);
        let longer = keys.get(usize::from(value.is_some())..)?;
        let groups: Vec<_> = longer.chunk_by(|(a, _), (b, _)| a.get(depth) == b.get(depth)).collect();
        let mut labels = Vec::new();
        for group in &groups {
            labels.push(*group.first()?.0.get(depth)?);
        }
        if node == 0 {
            self.take(0);
        }
        // A value is a child of label zero.
        let base = self.base(value.is_some().then_some(0).into_iter().chain(labels.iter().copied()))?;
        let offset = node ^ base;
        let encoded = if offset < 1 << 21 {
            offset << 10
        } else if offset & 0xFF == 0 && offset < 1 << 29 {
            (offset << 2) | (1 << 9)
        } else {
            return None;
        };
        *self.units.get_mut(node as usize)? |= encoded | (u32::from(value.is_some()) << 8);
        if let Some(value) = value {
            *self.units.get_mut(base as usize)? = value | (1 << 31);
        }
        for label in &labels {
            *self.units.get_mut((base ^ u32::from(*label)) as usize)? = u32::from(*label);
        }
        for (label, group) in labels.iter().zip(groups) {
            self.insert(base ^ u32::from(*label), depth + 1, group)?;
        }
        Some(())
    }

    /// Finds and takes a base at which every label's place is free.
    fn base(&mut self, labels: impl Iterator<Item = u8> + Clone) -> Option<u32> {
        let first = u32::from(labels.clone().next()?);
        let mut place = self.first_free;
        loop {
            let base = place ^ first;
            if !self.bases.contains(&base) && labels.clone().all(|label| self.free(base ^ u32::from(label))) {
                self.bases.insert(base);
                for label in labels {
                    self.take(base ^ u32::from(label));
                }
                while !self.free(self.first_free) {
                    self.first_free += 1;
                }
                return Some(base);
            }
            place = place.checked_add(1)?;
        }
    }

    fn free(&self, place: u32) -> bool {
        !self.taken.get(place as usize).copied().unwrap_or(false)
    }

    fn take(&mut self, place: u32) {
        let place = place as usize;
        if self.taken.len() <= place {
            self.taken.resize(place + 1, false);
            self.units.resize(place + 1, 0);
        }
        if let Some(taken) = self.taken.get_mut(place) {
            *taken = true;
        }
    }
}
