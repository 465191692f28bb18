//! Features of a ticket for the classifier: the selected rows of a form, and, besides an embedding, hashed word and
//! character n-grams.
//!
//! Trainer and component compute them with the same code and the same recorded [`FeatureSettings`]. Hashing (feature
//! hashing, Weinberger et al. 2009) needs no vocabulary file; inverse document frequencies are folded into the head's
//! weights, so a text's features depend on the text alone.

pub mod preparser;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use bulkhead_text::tokens;

/// Maximum number of characters read of a text, at its head and tail: ten pages. More is attachments and threads, and
/// would take longer than a call may.
pub const MOST_READ: usize = 20_000;

/// Version of the features; raised when the same settings would give different features.
pub const FEATURES_VERSION: u32 = 1;

/// Maximum of [`FeatureSettings::bits`].
pub const MOST_BITS: u8 = 22;
/// Maximum length of an n-gram, in words or characters.
pub const LONGEST_NGRAM: u8 = 8;

/// How to compute features; recorded in every head trained on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSettings {
    /// [`FEATURES_VERSION`] of the code that computed them.
    pub version: u32,
    /// Binary logarithm of the number of columns; 4 to [`MOST_BITS`].
    pub bits: u8,
    /// N-grams of one to this many words; 0 for none.
    pub words: u8,
    /// Shortest n-gram of characters inside a word and its two bounds; 0 for none.
    pub shortest: u8,
    /// Longest n-gram of characters; 0 for none.
    pub longest: u8,
}

/// Why features cannot be computed with some settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// They are for another version of this code.
    #[error(
        "the features are of version {0}, this component computes version {FEATURES_VERSION}: train the head again"
    )]
    Version(u32),
    /// A setting is out of range.
    #[error("{field} is {value}, it must be {least} to {most}")]
    Range {
        /// Name of the setting.
        field: &'static str,
        /// Its value.
        value: u8,
        /// The minimum.
        least: u8,
        /// The maximum.
        most: u8,
    },
}

impl FeatureSettings {
    /// Returns settings for words, pairs of words and character n-grams of three to five, in `2^bits` columns.
    pub const fn words_and_characters(bits: u8) -> Self {
        Self { version: FEATURES_VERSION, bits, words: 2, shortest: 3, longest: 5 }
    }

    /// Returns settings for words and pairs of words, in `2^bits` columns.
    pub const fn words_only(bits: u8) -> Self {
        Self { version: FEATURES_VERSION, bits, words: 2, shortest: 0, longest: 0 }
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        1 << self.bits.min(MOST_BITS)
    }

    /// Checks whether this code can compute these features.
    ///
    /// # Errors
    ///
    /// Fails when they are for another version or out of range.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.version != FEATURES_VERSION {
            return Err(SettingsError::Version(self.version));
        }
        let shortest = if self.longest == 0 { 0 } else { 1 };
        let ranges = [
            ("bits", self.bits, 4, MOST_BITS),
            ("words", self.words, 0, LONGEST_NGRAM),
            ("longest", self.longest, 0, LONGEST_NGRAM),
            ("shortest", self.shortest, shortest, self.longest),
        ];
        match ranges.into_iter().find(|(_, value, least, most)| !(least..=most).contains(&value)) {
            Some((field, value, least, most)) => Err(SettingsError::Range { field, value, least, most }),
            None => Ok(()),
        }
    }

    /// Computes the features of `text`. Each group (words, characters) has length 1 over the root of the number of
    /// groups; a feature weighs `1 + ln(count)` before that. A text without features has an empty row.
    pub fn row(&self, text: &str) -> Row {
        let spaced = tokens::spaced(text);
        let words: Vec<&str> = tokens::each(&spaced).collect();
        let mut row = Vec::new();
        let groups = [self.word_ngrams(&words), self.character_ngrams(&words)];
        let used = groups.iter().filter(|group| !group.is_empty()).count() as f32;
        for group in groups {
            let weights = count(group);
            let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
            let scale = 1.0 / (length * used.sqrt());
            row.extend(weights.into_iter().map(|(column, weight)| (column, weight * scale)));
        }
        Row::from_pairs(row)
    }

    fn word_ngrams(&self, words: &[&str]) -> Vec<u32> {
        let sizes = 1..=usize::from(self.words);
        sizes
            .flat_map(|size| words.windows(size))
            .map(|ngram| {
                let mut hash = Hash::new(b'w');
                for word in ngram {
                    hash.write(word.as_bytes()).write(b" ");
                }
                hash.column(self)
            })
            .collect()
    }

    /// Hashes n-grams incrementally: those that begin at one character share their prefix.
    fn character_ngrams(&self, words: &[&str]) -> Vec<u32> {
        let mut columns = Vec::new();
        let mut bounded = String::new();
        for word in words {
            bounded.clear();
            bounded.extend([" ", *word, " "]);
            for (start, _) in bounded.char_indices() {
                let mut hash = Hash::new(b'c');
                let characters = bounded.get(start..).unwrap_or_default().chars();
                for (before, character) in characters.take(usize::from(self.longest)).enumerate() {
                    hash.write(character.encode_utf8(&mut [0; 4]).as_bytes());
                    if before + 1 >= usize::from(self.shortest) {
                        columns.push(hash.column(self));
                    }
                }
            }
        }
        columns
    }
}

/// One row of a sparse matrix: columns ascending, each once, and their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Columns with a value.
    pub indices: Vec<u32>,
    /// Their values; as many as `indices`.
    pub values: Vec<f32>,
}

impl Row {
    /// Adds up the values of equal columns.
    fn from_pairs(mut pairs: Vec<(u32, f32)>) -> Self {
        pairs.sort_by_key(|(column, _)| *column);
        let mut row = Self::default();
        for (column, value) in pairs {
            match row.values.last_mut() {
                Some(last) if row.indices.last() == Some(&column) => *last += value,
                _ => {
                    row.indices.push(column);
                    row.values.push(value);
                }
            }
        }
        row
    }

    /// Returns the columns with their values.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f32)> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }
}

/// Rows one after another, as `wasi:nn` tensors hold them (compressed sparse rows).
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Columns of all rows.
    pub indices: Vec<u32>,
    /// Their values.
    pub values: Vec<f32>,
    /// `[n + 1]`: row `i` lies from `offsets[i]` to `offsets[i + 1]`.
    pub offsets: Vec<u32>,
}

impl FromIterator<Row> for Rows {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        let mut all = Self { indices: Vec::new(), values: Vec::new(), offsets: vec![0] };
        for row in rows {
            all.indices.extend(row.indices);
            all.values.extend(row.values);
            all.offsets.push(u32::try_from(all.indices.len()).unwrap_or(u32::MAX));
        }
        all
    }
}

/// Returns columns with `1 + ln` of their counts.
fn count(mut columns: Vec<u32>) -> Vec<(u32, f32)> {
    columns.sort_unstable();
    let groups = columns.chunk_by(|one, next| one == next);
    groups.filter_map(|group| Some((*group.first()?, 1.0 + (group.len() as f32).ln()))).collect()
}

/// FNV-1a, 64 bits (draft-eastlake-fnv): fast for short inputs, and the same everywhere.
struct Hash(u64);

impl Hash {
    fn new(kind: u8) -> Self {
        let mut hash = Self(0xcbf2_9ce4_8422_2325);
        hash.write(&[kind]);
        hash
    }

    fn write(&mut self, bytes: &[u8]) -> &mut Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    /// Returns the column; folds the upper half in, because the lower bits of FNV alone mix worse.
    fn column(&self, settings: &FeatureSettings) -> u32 {
        let folded = (self.0 >> 32) ^ self.0;
        (folded & (settings.columns() as u64 - 1)) as u32
    }
}
