//! What is kept in memory of one state of a base: vectors, the vocabulary with its frequencies, categories.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::error::Error;
use crate::store::{Entry, Head, Snapshot};

/// One state of a base.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub head: Head,
    /// Languages of its documents.
    pub languages: Vec<String>,
    /// Numbers of the passages, ascending.
    numbers: Vec<i64>,
    /// Number of each passage's document.
    documents: Vec<i64>,
    /// `[passages, dims]`, each of length 1.
    vectors: Vec<f32>,
    dims: usize,
    /// Categories of documents that have some, by the documents' numbers.
    categories: HashMap<i64, Vec<String>>,
    /// In how many passages each term is.
    vocabulary: HashMap<String, u32>,
    /// Mean number of terms in a passage.
    mean_length: f32,
}

impl Index {
    /// Reads the state that `snapshot` sees.
    pub(crate) async fn load(snapshot: &mut Snapshot, head: Head) -> Result<Self, Error> {
        let languages = snapshot.languages().await?;
        let categories = snapshot.categories().await?;
        let entries = snapshot.entries().await?;
        let mut index = Self { languages, ..Self::new(head, &entries)? };
        for (document, category) in categories {
            index.categories.entry(document).or_default().push(category);
        }
        Ok(index)
    }

    fn new(head: Head, entries: &[Entry]) -> Result<Self, Error> {
        let dims = head.provenance.as_ref().map_or(0, |provenance| provenance.dims);
        let mut index = Self { dims, head, ..Self::default() };
        index.vectors.reserve_exact(entries.len() * dims);
        let mut length = 0;
        for entry in entries {
            if entry.vector.len() != dims * size_of::<f32>() {
                let (number, bytes) = (entry.number, entry.vector.len());
                return Err(Error::Damaged(format!("passage {number} has a vector of {bytes} bytes")));
            }
            index.numbers.push(entry.number);
            index.documents.push(entry.document);
            index.vectors.extend(decode(&entry.vector));
            let mut seen = HashSet::new();
            for term in entry.terms.split_whitespace() {
                length += 1;
                if !seen.insert(term) {
                    continue;
                }
                match index.vocabulary.get_mut(term) {
                    Some(count) => *count += 1,
                    None => drop(index.vocabulary.insert(term.to_owned(), 1)),
                }
            }
        }
        index.mean_length = length as f32 / entries.len().max(1) as f32;
        Ok(index)
    }

    /// Passages.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn mean_length(&self) -> f32 {
        self.mean_length
    }

    /// In how many passages `term` is.
    pub(crate) fn frequency(&self, term: &str) -> u32 {
        self.vocabulary.get(term).copied().unwrap_or(0)
    }

    /// Number of the document that the passage with this number is of.
    pub(crate) fn document(&self, number: i64) -> Option<i64> {
        self.documents.get(self.position(number)?).copied()
    }

    pub(crate) fn categories(&self, document: i64) -> &[String] {
        self.categories.get(&document).map_or(&[], Vec::as_slice)
    }

    /// `vector` at length 1.
    ///
    /// # Errors
    ///
    /// When it has another length than those of the base, a number that is not finite, or zeros only.
    pub(crate) fn direction(&self, vector: &[f32]) -> Result<Vec<f32>, Error> {
        let fault = || {
            let found = vector.iter().filter(|number| number.is_finite()).count();
            Error::Vector { found, expected: self.dims }
        };
        if vector.len() != self.dims {
            return Err(fault());
        }
        direction(vector).ok_or_else(fault)
    }

    /// Cosine of a direction and the vector of the passage with this number.
    pub(crate) fn cosine(&self, number: i64, direction: &[f32]) -> Option<f32> {
        let start = self.position(number)? * self.dims;
        Some(dot(self.vectors.get(start..start + self.dims)?, direction))
    }

    /// Numbers of the `limit` passages nearest to a direction, nearest first. With `categories` only those of
    /// documents in one of them, or in none at all.
    pub(crate) fn nearest(&self, direction: &[f32], categories: &[String], limit: usize) -> Vec<i64> {
        if self.dims == 0 {
            return Vec::new();
        }
        let passages = self.numbers.iter().zip(&self.documents).zip(self.vectors.chunks_exact(self.dims));
        let mut nearest: Vec<(f32, i64)> = passages
            .filter(|((_, document), _)| categories.is_empty() || self.fits(**document, categories))
            .map(|((number, _), vector)| (dot(vector, direction), *number))
            .collect();
        // Equals in the order of their numbers: the same question has the same answer.
        let order =
            |left: &(f32, i64), right: &(f32, i64)| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1));
        if nearest.len() > limit && limit > 0 {
            nearest.select_nth_unstable_by(limit - 1, order);
        }
        nearest.truncate(limit);
        nearest.sort_unstable_by(order);
        nearest.into_iter().map(|(_, number)| number).collect()
    }

    fn fits(&self, document: i64, categories: &[String]) -> bool {
        let own = self.categories(document);
        own.is_empty() || own.iter().any(|category| categories.contains(category))
    }

    fn position(&self, number: i64) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }
}

/// `vector` at length 1; `None` if it has no direction.
pub(crate) fn direction(vector: &[f32]) -> Option<Vec<f32>> {
    let length = dot(vector, vector).sqrt();
    (length.is_finite() && length > 0.0).then(|| vector.iter().map(|number| number / length).collect())
}

/// A vector as it is stored.
pub(crate) fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn decode(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number))
}

/// Sixteen sums side by side, which the compiler keeps in vector registers.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (lefts, left_rest) = left.as_chunks::<16>();
    let (rights, right_rest) = right.as_chunks::<16>();
    let mut sums = [0.0_f32; 16];
    for (left, right) in lefts.iter().zip(rights) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}
