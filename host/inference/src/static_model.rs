//! Static models (the model2vec family): a vector for each token, and a text's vector is their mean.
//!
//! The order of operations is that of Python `model2vec` 0.10 and of `model2vec-rs` 0.4: a text is tokenized
//! without special tokens and cut to the limit, then unknown tokens are dropped, then the rows (times their
//! weights, where the model has weights) are summed and divided by the number of tokens left; weights do not
//! enter the denominator. Both references first cut the text to a number of characters guessed from the median
//! length of a token; that shortcut is left out, so a limit of 512 tokens means 512 tokens.

mod config;
mod rows;
#[cfg(test)]
mod tests;

use std::path::Path;

use safetensors::Dtype;

use crate::error::LoadError;
use crate::folder::{STATIC_TABLES, layout};
use crate::tensors::Tensors;
use bulkhead_tokenizers::Tokenizer;
use config::Config;
use rows::Rows;

/// A static model, its table left where it lies in the file.
pub struct StaticModel {
    tokenizer: Tokenizer,
    rows: Rows,
    /// Row of each token id; without it a token's row is its id.
    mapping: Option<Vec<u32>>,
    /// Factor of each token id.
    weights: Option<Vec<f32>>,
    max_length: Option<usize>,
}

/// Token ids that cannot be embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StaticError {
    /// An id without a row.
    #[error("token id {id} is outside the vocabulary")]
    Id {
        /// The id.
        id: u32,
    },
    /// An output of a wrong length.
    #[error("a vector of this model has {dims} elements, not {given}")]
    Dims {
        /// The model's dimensions.
        dims: usize,
        /// Elements of the output.
        given: usize,
    },
    /// Sums that no f32 holds: the table has values that are too large.
    #[error("the vector is not finite")]
    NotFinite,
}

impl StaticModel {
    /// Opens a model folder of any layout that `model2vec` writes or reads: `config.json` or
    /// `config_sentence_transformers.json` next to the model, the model in `0_StaticEmbedding/`, or the configuration
    /// in the folder above. `tokenizer` is the folder's.
    ///
    /// # Errors
    ///
    /// When a file is missing or malformed; the message names it. Everything that a token id leads to is checked
    /// here: each id has a row inside the table and a weight, and all of them are finite.
    pub fn open(folder: &Path, tokenizer: Tokenizer) -> Result<Self, LoadError> {
        let files = layout::find(folder)?;
        let config = Config::read(&files.config)?;
        let tensors = Tensors::open(&files.weights)?;
        let mapping = mapping(&tensors)?;
        let weights = weights(&tensors)?;
        let malformed = |reason: String| LoadError::malformed(&files.weights, reason);
        let name = STATIC_TABLES
            .into_iter()
            .find(|name| tensors.get(name).is_some())
            .ok_or_else(|| malformed(format!("none of the tensors {STATIC_TABLES:?} is in it")))?;
        let rows = Rows::new(tensors, name)?;
        let ids = tokenizer.id_bound(false);
        let fault = check(ids, rows.count(), mapping.as_deref(), weights.as_deref());
        fault.map_err(malformed)?;
        Ok(Self { tokenizer, rows, mapping, weights, max_length: config.max_length })
    }

    /// Returns the model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Returns the number of elements of a vector.
    pub fn dims(&self) -> usize {
        self.rows.dims()
    }

    /// Returns the element type of the table.
    pub fn dtype(&self) -> Dtype {
        self.rows.dtype()
    }

    /// Returns the most tokens of a text that count: 512 when the model's configuration is silent, `None` when it
    /// names no limit.
    pub fn max_length(&self) -> Option<usize> {
        self.max_length
    }

    /// Writes the vector of a text's ids (already cut to the limit) into `out` (`[dims]` f32), not normalised.
    /// Without any known token the vector is zero.
    ///
    /// # Errors
    ///
    /// When an id is outside the vocabulary, `out` is not of the model's dimensions, or an element leaves the range
    /// of f32.
    pub fn embed(&self, ids: &[u32], out: &mut [f32]) -> Result<(), StaticError> {
        if out.len() != self.dims() {
            return Err(StaticError::Dims { dims: self.dims(), given: out.len() });
        }
        out.fill(0.0);
        let unknown = self.tokenizer.unknown_id();
        let mut count = 0u32;
        for (place, id) in ids.iter().copied().enumerate() {
            if let Some(row) = ids.get(place + rows::AHEAD).and_then(|id| self.row(*id)) {
                self.rows.prefetch(row);
            }
            if Some(id) == unknown {
                continue;
            }
            let row = self.row(id).ok_or(StaticError::Id { id })?;
            let weight = match &self.weights {
                Some(weights) => *weights.get(id as usize).ok_or(StaticError::Id { id })?,
                None => 1.0,
            };
            self.rows.add(row, weight, out).ok_or(StaticError::Id { id })?;
            count += 1;
        }
        let share = 1.0 / count.max(1) as f32;
        out.iter_mut().for_each(|element| *element *= share);
        if rows::are_finite(out) { Ok(()) } else { Err(StaticError::NotFinite) }
    }

    /// Returns the row of a token: as mapped, and beyond the mapping its id.
    fn row(&self, id: u32) -> Option<usize> {
        let mapped = self.mapping.as_ref().and_then(|mapping| mapping.get(id as usize));
        usize::try_from(*mapped.unwrap_or(&id)).ok()
    }
}

/// Scales a vector to length one; one shorter than 1e-12 is divided by 1e-12, so a zero vector stays zero.
pub fn normalize(vector: &mut [f32]) {
    // Sixteen sums instead of one: additions wait for each other otherwise.
    let (blocks, rest) = vector.as_chunks::<16>();
    let mut sums = [0.0f32; 16];
    for block in blocks {
        sums.iter_mut().zip(block).for_each(|(sum, element)| *sum += element * element);
    }
    let square = sums.iter().sum::<f32>() + rest.iter().map(|element| element * element).sum::<f32>();
    if !square.is_finite() {
        // The squares of elements above 1e19 leave the range of f32.
        let length = vector.iter().map(|element| f64::from(*element).powi(2)).sum::<f64>().sqrt();
        return vector.iter_mut().for_each(|element| *element = (f64::from(*element) / length) as f32);
    }
    let scale = 1.0 / square.sqrt().max(1e-12);
    vector.iter_mut().for_each(|element| *element *= scale);
}

/// Checks that each token id below `ids` has a row and a weight.
fn check(ids: u32, rows: usize, mapping: Option<&[u32]>, weights: Option<&[f32]>) -> Result<(), String> {
    let outside = |row: u32| usize::try_from(row).is_ok_and(|row| row >= rows);
    if let Some(row) = mapping.into_iter().flatten().find(|row| outside(**row)) {
        return Err(format!("tensor `mapping` names row {row} of {rows}"));
    }
    let mapped = mapping.map_or(0, <[u32]>::len);
    if ids as usize > rows.max(mapped) {
        return Err(format!("the tokenizer has {ids} ids, the table {rows} rows and the mapping {mapped}"));
    }
    if let Some(weights) = weights.filter(|weights| weights.len() < ids as usize) {
        return Err(format!("tensor `weights` has {} elements for {ids} token ids", weights.len()));
    }
    Ok(())
}

/// Reads the row of each token id, of I32 or I64; a negative one is refused.
fn mapping(tensors: &Tensors) -> Result<Option<Vec<u32>>, LoadError> {
    let Some(tensor) = tensors.get("mapping") else { return Ok(None) };
    let malformed = |reason: String| LoadError::malformed(tensors.path(), reason);
    if tensor.shape.len() != 1 {
        return Err(malformed(format!("tensor `mapping` has shape {:?}, not one dimension", tensor.shape)));
    }
    let entries: Vec<i64> = match tensor.dtype {
        Dtype::I32 => {
            tensor.bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes).into()).collect()
        }
        Dtype::I64 => tensor.bytes.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect(),
        other => return Err(malformed(format!("tensor `mapping` is of {other:?}, not I32 or I64"))),
    };
    let row =
        |entry| u32::try_from(entry).map_err(|_| malformed(format!("tensor `mapping` names row {entry}")));
    entries.into_iter().map(row).collect::<Result<_, _>>().map(Some)
}

/// Reads the factor of each token id, of F64, F32 or F16.
fn weights(tensors: &Tensors) -> Result<Option<Vec<f32>>, LoadError> {
    let Some(tensor) = tensors.get("weights") else { return Ok(None) };
    let malformed = |reason: String| LoadError::malformed(tensors.path(), reason);
    if tensor.shape.len() != 1 {
        return Err(malformed(format!("tensor `weights` has shape {:?}, not one dimension", tensor.shape)));
    }
    let floats =
        matches!(tensor.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16).then(|| tensor.to_f32()).flatten();
    let reason = || malformed(format!("tensor `weights` is of {:?}, not F64, F32 or F16", tensor.dtype));
    let weights = floats.ok_or_else(reason)?;
    if !rows::are_finite(&weights) {
        return Err(malformed("tensor `weights` has values that are not finite".to_owned()));
    }
    Ok(Some(weights))
}
