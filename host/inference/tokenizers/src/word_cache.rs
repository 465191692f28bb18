//! A cache of segmentations of recent short words: natural text repeats its words, and a search costs some hundred
//! times a look-up.

/// Longest word that is kept, in bytes, and most tokens of it: an entry is one cache line.
const WORD: usize = 26;
const IDS: usize = 8;
/// Entries, 256 KiB a thread: small enough to stay in the second-level cache.
const ENTRIES: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Entry {
    /// The model that the segmentation is of; 0 for none.
    owner: u32,
    len: u8,
    count: u8,
    word: [u8; WORD],
    ids: [u32; IDS],
}

const EMPTY: Entry = Entry { owner: 0, len: 0, count: 0, word: [0; WORD], ids: [0; IDS] };

/// The cache of one thread, shared by all models.
#[derive(Default)]
pub(super) struct WordCache {
    entries: Vec<Entry>,
}

impl WordCache {
    /// Returns the ids of a word under a model.
    #[inline]
    pub(super) fn get(&self, owner: u32, word: &[u8]) -> Option<&[u32]> {
        let entry = self.entries.get(slot(owner, word))?;
        let same = entry.owner == owner && entry.word.get(..usize::from(entry.len)) == Some(word);
        entry.ids.get(..usize::from(entry.count)).filter(|_| same)
    }

    /// Keeps the ids of a word in place of what was there.
    pub(super) fn put(&mut self, owner: u32, word: &[u8], ids: &[u32]) {
        if word.len() > WORD || ids.len() > IDS {
            return;
        }
        if self.entries.is_empty() {
            self.entries.resize(ENTRIES, EMPTY);
        }
        if let Some(entry) = self.entries.get_mut(slot(owner, word)) {
            *entry = Entry { owner, len: word.len() as u8, count: ids.len() as u8, ..EMPTY };
            entry.word.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
            entry.ids.iter_mut().zip(ids).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Returns a hash of eight bytes a step (multiply and fold).
#[inline]
fn slot(owner: u32, word: &[u8]) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |hash: u64, part: u64| {
        let product = u128::from(hash ^ part) * u128::from(ODD);
        (product >> 64) as u64 ^ product as u64
    };
    let (chunks, rest) = word.as_chunks::<8>();
    let mut hash = fold(u64::from(owner), word.len() as u64 ^ ODD);
    for chunk in chunks {
        hash = fold(hash, u64::from_le_bytes(*chunk));
    }
    let tail = rest.iter().fold(0u64, |tail, byte| tail << 8 | u64::from(*byte));
    fold(hash, tail) as usize % ENTRIES
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn entries_belong_to_model_and_word() {
        let mut cache = WordCache::default();
        assert_eq!(cache.get(1, b"word"), None);
        let words: Vec<String> = (0..20_000).map(|number| format!("{number:x}").repeat(number % 5)).collect();
        for (number, word) in words.iter().enumerate() {
            cache.put(1, word.as_bytes(), &[number as u32, 7]);
            assert_eq!(
                cache.get(1, word.as_bytes()),
                (word.len() <= WORD).then_some(&[number as u32, 7][..])
            );
            assert_eq!(cache.get(2, word.as_bytes()), None);
            assert_eq!(cache.get(1, format!("{word}!").as_bytes()), None);
        }
        cache.put(3, b"long", &[1; IDS + 1]);
        assert_eq!(cache.get(3, b"long"), None);
    }
}
