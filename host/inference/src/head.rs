//! Linear heads: classifiers over a model's vectors and, where they help, over sparse features of the text.
//!
//! A row of weights scores `weights · embedding + sparse weights · features + bias`. A class has one row, or several
//! that lie together: its score is then the logarithm of the sum of their `exp`. Its probability is
//! `link(scale * score + shift)`. Scale and shift are a class's calibration.

mod file;
mod record;
mod sparse;
#[cfg(test)]
mod tests;

pub use record::{Link, Mismatch, Prompt, Record};
pub use sparse::Csr;

/// The numbers of a head with `r` rows for `k` classes over vectors of length `d`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coefficients {
    /// `[r, d]`, row by row.
    pub weights: Vec<f32>,
    /// `[r]`, in scores before calibration.
    pub bias: Vec<f32>,
    /// `[k]`: the factor of calibration; 1 without.
    pub scale: Vec<f32>,
    /// `[k]`: the shift of calibration; 0 without.
    pub shift: Vec<f32>,
    /// `[f, r]`: the weights of feature 0 for all rows, then those of feature 1; if the head takes features.
    pub sparse: Option<Vec<f32>>,
}

/// A head, checked: shapes fit, all numbers are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    record: Record,
    coefficients: Coefficients,
    /// `[k]`
    classes: Vec<Class>,
}

/// A class and how many rows it has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Class {
    label: String,
    rows: usize,
}

/// Why a record and coefficients are not a head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHead {
    /// Too few labels to choose from, or the same twice.
    #[error("labels: {0}")]
    Labels(String),
    /// A tensor has too many or too few numbers.
    #[error("tensor `{name}` has {found} numbers, not {wanted}")]
    Shape {
        /// The tensor.
        name: &'static str,
        /// What it has.
        found: usize,
        /// What it should have.
        wanted: String,
    },
    /// A tensor holds infinities or NaN.
    #[error("tensor `{name}`: number {index} is not finite")]
    NotFinite {
        /// The tensor.
        name: &'static str,
        /// Which number, from 0.
        index: usize,
    },
    /// The record describes sparse features and there are no weights for them, or the reverse.
    #[error("the record's `sparse` and tensor `sparse_weights` must both be there or neither")]
    Sparse,
}

/// Input that a head cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// Not whole vectors.
    #[error("`embedding` has {found} numbers, not a multiple of {dims}")]
    Dims {
        /// Numbers given.
        found: usize,
        /// Length of a vector.
        dims: usize,
    },
    /// Sparse features are missing where the head was trained with them, or given where it was not.
    #[error("the head {}", if *.0 { "needs sparse features" } else { "takes no sparse features" })]
    Sparse(bool),
    /// Sparse features that are not well formed.
    #[error("`{tensor}`: {reason}")]
    Malformed {
        /// Which part of them.
        tensor: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// An infinity or NaN.
    #[error("`{tensor}`: number {index} is not finite")]
    NotFinite {
        /// Where.
        tensor: &'static str,
        /// Which number, from 0.
        index: usize,
    },
}

impl Head {
    /// Creates a head from its parts.
    ///
    /// # Errors
    ///
    /// When they do not fit together or a number is not finite.
    pub fn new(record: Record, coefficients: Coefficients) -> Result<Self, InvalidHead> {
        let rows = record.labels.len();
        let classes = classes(&record.labels);
        let k = classes.len();
        if k == 0 || record.link == Link::Softmax && k < 2 {
            return Err(InvalidHead::Labels(format!("{k} are too few to choose from")));
        }
        let mut sorted: Vec<&str> = classes.iter().map(|class| class.label.as_str()).collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find_map(|pair| match pair {
            [one, other] if one == other => Some(*one),
            _ => None,
        }) {
            return Err(InvalidHead::Labels(format!("rows of `{twice}` do not lie together")));
        }
        let Coefficients { weights, bias, scale, shift, sparse } = &coefficients;
        let wanted = rows.checked_mul(record.dims).filter(|wanted| *wanted > 0);
        let dense = [("weights", weights, wanted), ("bias", bias, Some(rows)), ("scale", scale, Some(k))];
        for (name, numbers, wanted) in dense.into_iter().chain([("shift", shift, Some(k))]) {
            if Some(numbers.len()) != wanted {
                let wanted =
                    wanted.map_or_else(|| "labels times dims".to_owned(), |wanted| wanted.to_string());
                return Err(InvalidHead::Shape { name, found: numbers.len(), wanted });
            }
            finite(name, numbers)?;
        }
        if sparse.is_some() != record.sparse.is_some() {
            return Err(InvalidHead::Sparse);
        }
        if let Some(numbers) = sparse {
            let name = "sparse_weights";
            if numbers.is_empty() || !numbers.len().is_multiple_of(rows) {
                let wanted = format!("a multiple of {rows}");
                return Err(InvalidHead::Shape { name, found: numbers.len(), wanted });
            }
            finite(name, numbers)?;
        }
        Ok(Self { record, coefficients, classes })
    }

    /// Returns the classes `[k]`, in the order of the probabilities.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &str> {
        self.classes.iter().map(|class| class.label.as_str())
    }

    /// Returns what it was trained on, and its classes.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the number of sparse features; 0 if it takes none.
    pub fn features(&self) -> usize {
        self.coefficients.sparse.as_ref().map_or(0, Vec::len) / self.record.labels.len().max(1)
    }

    /// Returns how many multiplications [`Self::predict`] takes for so many texts that have so many sparse features in all.
    pub fn multiplications(&self, texts: usize, features: usize) -> usize {
        let of_a_row = texts.saturating_mul(self.record.dims).saturating_add(features);
        of_a_row.saturating_mul(self.record.labels.len())
    }

    /// Returns probabilities `[n, k]` of `n` texts from their vectors `[n, d]` and sparse features `[n, f]`.
    ///
    /// # Errors
    ///
    /// When lengths do not fit, an index is out of range or a number is not finite.
    pub fn predict(&self, embeddings: &[f32], sparse: Option<Csr<'_>>) -> Result<Vec<f32>, PredictError> {
        let (k, dims) = (self.classes.len(), self.record.dims);
        if !embeddings.len().is_multiple_of(dims) {
            return Err(PredictError::Dims { found: embeddings.len(), dims });
        }
        if let Some(index) = embeddings.iter().position(|number| !number.is_finite()) {
            return Err(PredictError::NotFinite { tensor: "embedding", index });
        }
        let rows = embeddings.len() / dims;
        let sparse = match (sparse, &self.coefficients.sparse) {
            (None, None) => None,
            (Some(features), Some(weights)) => {
                features.check(rows, self.features())?;
                Some((features, weights))
            }
            (_, weights) => return Err(PredictError::Sparse(weights.is_some())),
        };
        let mut probabilities = Vec::with_capacity(rows * k);
        // 64 bits, because products of finite f32 cannot leave their range.
        let mut scores = vec![0.0; self.record.labels.len()];
        for (row, embedding) in embeddings.chunks_exact(dims).enumerate() {
            self.score(embedding, &mut scores);
            if let Some((features, weights)) = &sparse {
                features.add_row(row, weights, &mut scores);
            }
            let mut joined = self.join(&scores);
            self.link(&mut joined);
            probabilities.extend(joined.iter().map(|probability| *probability as f32));
        }
        Ok(probabilities)
    }

    fn score(&self, embedding: &[f32], scores: &mut [f64]) {
        let Coefficients { weights, bias, .. } = &self.coefficients;
        for ((score, weights), bias) in
            scores.iter_mut().zip(weights.chunks_exact(self.record.dims)).zip(bias)
        {
            *score = f64::from(*bias) + dot(weights, embedding);
        }
    }

    /// Joins scores of rows `[r]` to scores of classes `[k]`.
    fn join(&self, scores: &[f64]) -> Vec<f64> {
        let mut rest = scores;
        let join = |class: &Class| {
            let (of_class, others) = rest.split_at_checked(class.rows).unwrap_or((rest, &[]));
            rest = others;
            match of_class {
                [only] => *only,
                rows => {
                    let most = rows.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    most + rows.iter().map(|score| (score - most).exp()).sum::<f64>().ln()
                }
            }
        };
        self.classes.iter().map(join).collect()
    }

    /// Turns scores into probabilities.
    fn link(&self, scores: &mut [f64]) {
        let Coefficients { scale, shift, .. } = &self.coefficients;
        for ((score, scale), shift) in scores.iter_mut().zip(scale).zip(shift) {
            *score = *score * f64::from(*scale) + f64::from(*shift);
        }
        match self.record.link {
            Link::Sigmoid => scores.iter_mut().for_each(|score| *score = 1.0 / (1.0 + (-*score).exp())),
            Link::Softmax => {
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                scores.iter_mut().for_each(|score| *score = (*score - most).exp());
                let sum: f64 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= sum);
            }
        }
    }
}

/// Groups runs of equal labels.
fn classes(labels: &[String]) -> Vec<Class> {
    let runs = labels.chunk_by(|one, next| one == next);
    runs.filter_map(|run| Some(Class { label: run.first()?.clone(), rows: run.len() })).collect()
}

/// Multiplies with a sum for each of eight neighbours, so that the compiler may use vector instructions.
fn dot(one: &[f32], other: &[f32]) -> f64 {
    const LANES: usize = 8;
    let ((ones, one_rest), (others, other_rest)) = (one.as_chunks::<LANES>(), other.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (one, other) in ones.iter().zip(others) {
        for ((sum, one), other) in sums.iter_mut().zip(one).zip(other) {
            *sum += f64::from(*one) * f64::from(*other);
        }
    }
    let rest = one_rest.iter().zip(other_rest).map(|(one, other)| f64::from(*one) * f64::from(*other));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

fn finite(name: &'static str, numbers: &[f32]) -> Result<(), InvalidHead> {
    match numbers.iter().position(|number| !number.is_finite()) {
        None => Ok(()),
        Some(index) => Err(InvalidHead::NotFinite { name, index }),
    }
}
