//! Sparse features of texts, such as hashed n-grams.

use super::PredictError;

/// A matrix `[n, f]` of which few elements are not zero, in compressed rows: the features of text `i` are
/// `indices[offsets[i]..offsets[i + 1]]`, their values lie at the same places of `values`. Values of a feature that
/// is there several times add up.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a> {
    /// Features, each below `f`.
    pub indices: &'a [u32],
    /// Their values.
    pub values: &'a [f32],
    /// `[n + 1]`, from 0 to the number of indices.
    pub offsets: &'a [usize],
}

impl Csr<'_> {
    /// Checks that this is a well-formed matrix of so many rows and features.
    pub(super) fn check(&self, rows: usize, features: usize) -> Result<(), PredictError> {
        let malformed = |tensor, reason: String| Err(PredictError::Malformed { tensor, reason });
        let Self { indices, values, offsets } = self;
        if values.len() != indices.len() {
            return malformed("values", format!("{} numbers for {} indices", values.len(), indices.len()));
        }
        if offsets.len().checked_sub(1) != Some(rows) {
            return malformed("offsets", format!("{} numbers for {rows} rows, not one more", offsets.len()));
        }
        if offsets.first() != Some(&0) || offsets.last() != Some(&indices.len()) || !offsets.is_sorted() {
            return malformed("offsets", format!("they do not rise from 0 to {} indices", indices.len()));
        }
        if let Some(index) = indices.iter().position(|index| *index as usize >= features) {
            let found = indices.get(index).copied().unwrap_or_default();
            return malformed("indices", format!("number {index} is {found}, not below {features}"));
        }
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(index) => Err(PredictError::NotFinite { tensor: "values", index }),
        }
    }

    /// Adds the products of a row's features and their weights `[f, k]` to scores `[k]`.
    pub(super) fn add_row(&self, row: usize, weights: &[f32], scores: &mut [f64]) {
        let (Some(from), Some(to)) = (self.offsets.get(row), self.offsets.get(row + 1)) else { return };
        let indices = self.indices.get(*from..*to).unwrap_or_default();
        let values = self.values.get(*from..*to).unwrap_or_default();
        for (index, value) in indices.iter().zip(values) {
            let start = *index as usize * scores.len();
            let weights = weights.get(start..start + scores.len()).unwrap_or_default();
            for (score, weight) in scores.iter_mut().zip(weights) {
                *score += f64::from(*value) * f64::from(*weight);
            }
        }
    }
}
