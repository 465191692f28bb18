//! Vectors of a text's words, in addition to the one of the whole text, for comparing texts word by word (late
//! interaction, Khattab and Zaharia 2020). A model that was trained for it has [`FILE`] in its folder: a linear
//! projection of its token vectors to fewer numbers, and a linear estimate of the importance of each token of a
//! question.

#[cfg(test)]
pub(crate) mod tests;

use std::path::Path;

use bulkhead_heads::{Term, dot};
use sha2::{Digest, Sha256};

use crate::error::LoadError;
use crate::static_model::normalize;
use crate::tensors::Tensors;

/// Name of the file in a model's folder.
pub const FILE: &str = "late_interaction.safetensors";

/// Smallest importance: an unimportant word still decides between equals.
const LEAST_IMPORTANCE: f32 = 0.05;

/// What a text has beside its vector: vectors of its tokens, without those of the prompt and special ones unless all
/// were asked for, or weights of terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenVectors {
    /// `[tokens, dims]`, each of length 1 unless all were asked for.
    pub vectors: Vec<f32>,
    /// Length of a vector.
    pub dims: usize,
    /// Importance of each token of a question; greater than 0.
    pub importance: Vec<f32>,
    /// Weights of the vocabulary's terms.
    pub terms: Vec<Term>,
}

/// The projection by which a model makes them.
pub struct LateInteraction {
    dims: usize,
    /// `[dims + 1, hidden]`: the projection, and the importance as one more number.
    weight: Vec<f32>,
    /// `[dims + 1]`.
    bias: Vec<f32>,
    hidden: usize,
    sha256: String,
}

impl LateInteraction {
    /// Reads it for token vectors of `hidden` numbers; `None` if the folder has no such file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, lacks a tensor or has one of another shape or with numbers that are not finite.
    pub fn open(folder: &Path, hidden: usize) -> Result<Option<Self>, LoadError> {
        let path = folder.join(FILE);
        if !path.try_exists().map_err(|fault| LoadError::read(&path, fault))? {
            return Ok(None);
        }
        let tensors = Tensors::open(&path)?;
        let projection = tensors.get("projection.weight").map(|tensor| tensor.shape.to_vec());
        let dims = match projection.as_deref() {
            Some([dims, _]) if (1..=hidden).contains(dims) => *dims,
            _ => {
                let reason = format!("`projection.weight` is not a matrix of 1 to {hidden} rows");
                return Err(LoadError::malformed(&path, reason));
            }
        };
        let read = |name: &str, shape: &[usize]| {
            let numbers = tensors.require(name, shape)?.to_f32().unwrap_or_default();
            let fit = numbers.len() == shape.iter().product::<usize>()
                && numbers.iter().all(|number| number.is_finite());
            fit.then_some(numbers)
                .ok_or_else(|| LoadError::malformed(&path, format!("`{name}` has no finite numbers")))
        };
        let weight =
            [read("projection.weight", &[dims, hidden])?, read("importance.weight", &[1, hidden])?].concat();
        let bias = [read("projection.bias", &[dims])?, read("importance.bias", &[1])?].concat();
        let bytes = std::fs::read(&path).map_err(|fault| LoadError::read(&path, fault))?;
        Ok(Some(Self { dims, weight, bias, hidden, sha256: hex::encode(Sha256::digest(bytes)) }))
    }

    /// Returns the SHA-256 of the file, hex.
    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns vectors of the tokens whose rows `[tokens][stride]` the encoder gives.
    pub(crate) fn token_vectors(&self, rows: &[f32], stride: usize) -> TokenVectors {
        let mut found = TokenVectors { dims: self.dims, ..TokenVectors::default() };
        for row in rows.chunks_exact(stride).filter_map(|row| row.get(..self.hidden)) {
            let start = found.vectors.len();
            let mut numbers: Vec<f32> = self
                .weight
                .chunks_exact(self.hidden)
                .zip(&self.bias)
                .map(|(weight, bias)| dot(weight, row) + bias)
                .collect();
            found.importance.push(numbers.pop().unwrap_or_default().max(LEAST_IMPORTANCE));
            found.vectors.append(&mut numbers);
            normalize(found.vectors.get_mut(start..).unwrap_or_default());
        }
        found
    }
}
