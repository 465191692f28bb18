//! The in-memory index of one state of a base: vectors, the vocabulary with its frequencies, categories.

#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::error::Error;
use crate::store::{BaseHeader, IndexEntry, Snapshot};
use vocabulary::Vocabulary;

/// Fewest passages of a language whose mean describes the language.
const FEWEST: usize = 20;
/// Mean and deviation of the products of a question with centred passages, as multilingual-e5-small has them on the
/// development questions.
const USUAL: Distribution = Distribution { mean: 0.79, deviation: 0.021 };

/// 1 in fixed point. The product of two directions, and each part of it, is less than the greatest `i32`.
const ONE: f32 = 32767.0;

/// One state of a base.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub header: BaseHeader,
    /// Languages of its documents that have one.
    pub languages: Vec<String>,
    /// Numbers of the passages, ascending.
    numbers: Vec<i64>,
    /// Number of each passage's document.
    documents: Vec<i64>,
    /// Index of each passage's language; that of passages without one is the number of languages.
    groups: Vec<usize>,
    /// `[passages, dims]`, each of length [`ONE`]: what sets a passage apart from the others of its language. Every
    /// search reads all of them, and whole numbers of two bytes are read and multiplied in half the time.
    ///
    /// The vectors of one language have much in common, so that a question lies nearer to every passage in its own
    /// language than to the right one in another. Without the mean of their language, they compare.
    vectors: Vec<i16>,
    /// `[languages + 1, dims]`, what was subtracted from the vectors of each language; empty in a small base.
    means: Vec<Vec<f32>>,
    dims: usize,
    /// Categories of documents that have some, by the documents' numbers.
    categories: HashMap<i64, Vec<String>>,
    vocabulary: Vocabulary,
    /// Mean number of terms in a passage.
    mean_length: f32,
}

impl Index {
    /// Reads the state that `snapshot` sees.
    pub(crate) async fn load(snapshot: &mut Snapshot, header: BaseHeader) -> Result<Self, Error> {
        let languages: HashMap<i64, String> = snapshot.languages().await?.into_iter().collect();
        let categories = snapshot.categories().await?;
        let mut index = Self::new(header, &snapshot.entries().await?, &languages)?;
        for (document, category) in categories {
            index.categories.entry(document).or_default().push(category);
        }
        // A database's own order of texts may be another one.
        index.categories.values_mut().for_each(|categories| categories.sort_unstable());
        Ok(index)
    }

    fn new(
        header: BaseHeader,
        entries: &[IndexEntry],
        languages: &HashMap<i64, String>,
    ) -> Result<Self, Error> {
        let dims = header.provenance.as_ref().map_or(0, |provenance| provenance.dims);
        let names: BTreeSet<&String> = languages.values().collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        let mut index = Self { dims, header, languages: names, ..Self::default() };
        let mut vectors = Vec::with_capacity(entries.len() * dims);
        let mut length = 0;
        for entry in entries {
            if entry.vector.len() != dims * size_of::<f32>() {
                let (number, bytes) = (entry.number, entry.vector.len());
                return Err(Error::Damaged(format!("passage {number} has a vector of {bytes} bytes")));
            }
            let language = languages.get(&entry.document);
            let group = language.and_then(|language| index.languages.binary_search(language).ok());
            index.groups.push(group.unwrap_or(index.languages.len()));
            index.numbers.push(entry.number);
            index.documents.push(entry.document);
            vectors.extend(decode(&entry.vector));
            let mut seen = HashSet::new();
            for term in entry.terms.split_whitespace() {
                length += 1;
                if seen.insert(term) {
                    index.vocabulary.count(term);
                }
            }
        }
        index.mean_length = length as f32 / entries.len().max(1) as f32;
        index.means = index.set_apart(&mut vectors);
        index.vectors = fixed(&vectors);
        Ok(index)
    }

    /// Subtracts from each vector the mean of its language, or of the whole base where the language has few passages.
    /// Returns the means; none in a small base, whose vectors stay.
    fn set_apart(&self, vectors: &mut [f32]) -> Vec<Vec<f32>> {
        if self.dims == 0 || self.len() < FEWEST {
            return Vec::new();
        }
        let whole = self.mean(vectors, None);
        let means: Vec<Vec<f32>> = (0..=self.languages.len())
            .map(|group| {
                let few = self.groups.iter().filter(|own| **own == group).count() < FEWEST;
                if few { whole.clone() } else { self.mean(vectors, Some(group)) }
            })
            .collect();
        for (vector, group) in vectors.chunks_exact_mut(self.dims).zip(&self.groups) {
            if vector.iter().all(|number| *number == 0.0) {
                continue;
            }
            let apart: Vec<f32> = vector
                .iter()
                .zip(means.get(*group).unwrap_or(&whole))
                .map(|(own, mean)| own - mean)
                .collect();
            // A passage that is the mean stays what it is.
            if let Some(direction) = direction(&apart).filter(|_| apart.iter().any(|number| *number != 0.0)) {
                vector.copy_from_slice(&direction);
            }
        }
        means
    }

    /// Returns the mean vector of a language's passages, or of all.
    fn mean(&self, vectors: &[f32], group: Option<usize>) -> Vec<f32> {
        let mut mean = vec![0.0; self.dims];
        let mut count = 0.0;
        for (vector, own) in vectors.chunks_exact(self.dims).zip(&self.groups) {
            if group.is_none_or(|group| group == *own) {
                count += 1.0;
                mean.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
            }
        }
        mean.iter_mut().for_each(|sum| *sum /= f32::max(count, 1.0));
        mean
    }

    /// Returns the number of passages.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn mean_length(&self) -> f32 {
        self.mean_length
    }

    /// Returns in how many passages `term` is.
    pub(crate) fn frequency(&self, term: &str) -> u32 {
        self.vocabulary.frequency(term)
    }

    /// Returns terms of the base that are compounds with `term`, or parts of it.
    pub(crate) fn related(&self, term: &str) -> Vec<String> {
        self.vocabulary.related(term)
    }

    /// Returns the number of the document that the passage with this number belongs to.
    pub(crate) fn document(&self, number: i64) -> Option<i64> {
        self.documents.get(self.position(number)?).copied()
    }

    pub(crate) fn categories(&self, document: i64) -> &[String] {
        self.categories.get(&document).map_or(&[], Vec::as_slice)
    }

    /// Scales `vector` to length 1; zeros, which are near to nothing, stay zeros.
    ///
    /// # Errors
    ///
    /// When it has another length than those of the base, or a number that is not finite.
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

    /// Returns the `limit` passages nearest to a direction, nearest first: of all languages, then of each one that
    /// the base has several of. With `categories` only those of documents in one of them, or without any.
    pub(crate) fn nearest(&self, direction: &[f32], categories: &[String], limit: usize) -> Neighbours {
        if self.dims == 0 {
            return Neighbours::default();
        }
        let direction = fixed(direction);
        let vectors = self.vectors.chunks_exact(self.dims);
        let all: Vec<Product> = vectors
            .zip(self.numbers.iter().zip(&self.groups))
            .map(|(vector, (number, group))| (dot_fixed(vector, &direction), *number, *group))
            .collect();
        let distribution = Distribution::of(all.iter().map(|(product, ..)| *product));
        let fit = all.into_iter().zip(&self.documents);
        let neighbours: Vec<Product> = fit
            .filter(|(_, document)| categories.is_empty() || self.fits(**document, categories))
            .map(|(product, _)| product)
            .collect();
        let languages = if self.languages.len() > 1 { self.languages.len() } else { 0 };
        let own = (0..languages)
            .map(|group| neighbours.iter().filter(|neighbour| neighbour.2 == group).copied().collect());
        let own: Vec<Vec<Product>> = own.collect();
        let rankings =
            [neighbours].into_iter().chain(own).map(|neighbours| first(neighbours, limit)).collect();
        Neighbours { rankings, distribution }
    }

    /// Returns how prominent the passage with this number is in a direction: 1 is as far as the farthest passage of a
    /// base of this size by chance, whose distance grows with the logarithm of their number.
    pub(crate) fn prominence(&self, number: i64, direction: &[f32], distribution: Distribution) -> f32 {
        let at = |position: usize| self.vectors.get(position * self.dims..(position + 1) * self.dims);
        let direction = fixed(direction);
        let product = self.position(number).and_then(at);
        let product = product.map_or(distribution.mean, |vector| dot_fixed(vector, &direction));
        let farthest = (2.0 * (self.len().max(FEWEST) as f32).ln()).sqrt();
        // Equal vectors do not differ.
        (product - distribution.mean) / (distribution.deviation * farthest).max(f32::EPSILON)
    }

    /// Returns how near a direction is to the mean of the passages in the language of the one with this number; 0 in a
    /// small base.
    pub(crate) fn usual_nearness(&self, number: i64, direction: &[f32]) -> f32 {
        let group = self.position(number).and_then(|position| self.groups.get(position));
        group.and_then(|group| self.means.get(*group)).map_or(0.0, |mean| dot(mean, direction))
    }

    fn fits(&self, document: i64, categories: &[String]) -> bool {
        let own = self.categories(document);
        own.is_empty() || own.iter().any(|category| categories.contains(category))
    }

    fn position(&self, number: i64) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }
}

/// The neighbours of a direction.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// Numbers of passages, nearest first: of all languages, then of each.
    pub rankings: Vec<Vec<i64>>,
    /// Distribution of the products of the whole base.
    pub distribution: Distribution,
}

/// Mean and deviation of all products with a direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Distribution {
    mean: f32,
    deviation: f32,
}

impl Distribution {
    /// Computes the distribution. A few products say little about others, so that [`FEWEST`] usual ones count with
    /// them.
    fn of(products: impl ExactSizeIterator<Item = f32> + Clone) -> Self {
        let usual = if products.len() < FEWEST { FEWEST as f32 } else { 0.0 };
        let count = products.len() as f32 + usual;
        let mean = (products.clone().sum::<f32>() + usual * USUAL.mean) / count;
        let squares = products.map(|product| (product - mean).powi(2)).sum::<f32>();
        Self { mean, deviation: ((squares + usual * USUAL.deviation.powi(2)) / count).sqrt() }
    }
}

/// Product, number and language of a passage.
type Product = (f32, i64, usize);

/// Returns the numbers of the `limit` greatest, in order.
fn first(mut neighbours: Vec<Product>, limit: usize) -> Vec<i64> {
    // Equals in the order of their numbers: the same question has the same answer.
    let order = |left: &Product, right: &Product| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1));
    if neighbours.len() > limit && limit > 0 {
        neighbours.select_nth_unstable_by(limit - 1, order);
    }
    neighbours.truncate(limit);
    neighbours.sort_unstable_by(order);
    neighbours.into_iter().map(|(_, number, _)| number).collect()
}

/// Returns the product of a stored vector and a direction: their cosine.
pub(crate) fn cosine(stored: &[u8], direction: &[f32]) -> f32 {
    dot(&decode(stored).collect::<Vec<_>>(), direction)
}

/// Scales `vector` to length 1; zeros stay zeros, as a model may return them for a text of unknown words. `None` if
/// it is not finite.
pub(crate) fn direction(vector: &[f32]) -> Option<Vec<f32>> {
    let length = dot(vector, vector).sqrt();
    let divisor = if length == 0.0 { 1.0 } else { length };
    length.is_finite().then(|| vector.iter().map(|number| number / divisor).collect())
}

/// Encodes a vector as it is stored.
pub(crate) fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn decode(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number))
}

fn fixed(direction: &[f32]) -> Vec<i16> {
    direction.iter().map(|number| (number * ONE).round() as i16).collect()
}

/// Returns the product of two directions in fixed point.
fn dot_fixed(left: &[i16], right: &[i16]) -> f32 {
    let sum: i32 = left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right)).sum();
    sum as f32 / (ONE * ONE)
}

/// Multiplies with sixteen sums side by side, which the compiler keeps in vector registers.
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
