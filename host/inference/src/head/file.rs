//! The format of a head's file: safetensors of `weights` `[r, d]`, `bias` `[r]`, `scale` and `shift` `[k]` and, where
//! it takes sparse features, `sparse_weights` `[f, r]` (a feature's weights lie together, as a text names a few of
//! many features), all f32; its metadata has the format's version and the record.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{FORMAT, Record};
use super::{Coefficients, Head};
use crate::atomic_file;
use crate::error::{LoadError, SourceError};
use crate::tensors::Tensors;

/// The metadata's one entry; several would come in any order, and equal heads be unequal files.
const METADATA_KEY: &str = "linear-head";
const WEIGHTS: &str = "weights";
const BIAS: &str = "bias";
const SCALE: &str = "scale";
const SHIFT: &str = "shift";
const SPARSE: &str = "sparse_weights";

/// The entry's content, as JSON.
#[derive(Serialize, Deserialize)]
struct StoredRecord<R> {
    format: u32,
    record: R,
}

impl Head {
    /// Reads a head.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not a head; the message names the file and what is wrong in it.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let malformed = |reason: String| LoadError::malformed(path, reason);
        let file = Tensors::open(path)?;
        let stored = file
            .metadata_entry(METADATA_KEY)
            .ok_or_else(|| malformed(format!("metadata `{METADATA_KEY}` is missing")))?;
        let invalid = |fault| malformed(format!("metadata `{METADATA_KEY}`: {fault}"));
        let stored: StoredRecord<Value> = serde_json::from_str(stored).map_err(invalid)?;
        if stored.format != FORMAT {
            let reason =
                format!("metadata `{METADATA_KEY}`: format {}, this version reads {FORMAT}", stored.format);
            return Err(malformed(reason));
        }
        let record = Record::deserialize(stored.record).map_err(invalid)?;
        let numbers = |name: &str| {
            let tensor = file.get(name).ok_or_else(|| malformed(format!("tensor `{name}` is missing")))?;
            match (tensor.dtype, tensor.to_f32()) {
                (Dtype::F32, Some(numbers)) => Ok((tensor.shape, numbers)),
                (dtype, _) => Err(malformed(format!("tensor `{name}` is of {dtype:?}, not F32"))),
            }
        };
        let shaped = |name: &str, shape: &[usize]| {
            file.require(name, shape)?;
            numbers(name).map(|(_, numbers)| numbers)
        };
        let (shape, weights) = numbers(WEIGHTS)?;
        let &[rows, _] = shape else {
            return Err(malformed(format!("tensor `{WEIGHTS}` has shape {shape:?}, not [labels, dims]")));
        };
        let k = super::classes(&record.labels).len();
        let coefficients = Coefficients {
            weights,
            bias: shaped(BIAS, &[rows])?,
            scale: shaped(SCALE, &[k])?,
            shift: shaped(SHIFT, &[k])?,
            sparse: match file.get(SPARSE) {
                None => None,
                Some(tensor) => Some(shaped(SPARSE, &[tensor.shape.first().copied().unwrap_or(0), rows])?),
            },
        };
        Self::new(record, coefficients).map_err(|invalid| malformed(invalid.to_string()))
    }

    /// Writes the head to a file that appears whole or not at all.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), SourceError> {
        let failed = |source| SourceError::write(path, source);
        let Coefficients { weights, bias, scale, shift, sparse } = &self.coefficients;
        let (rows, k, d) = (self.record.labels.len(), self.classes.len(), self.record.dims);
        let mut tensors = vec![
            (WEIGHTS, vec![rows, d], weights),
            (BIAS, vec![rows], bias),
            (SCALE, vec![k], scale),
            (SHIFT, vec![k], shift),
        ];
        tensors.extend(sparse.as_ref().map(|sparse| (SPARSE, vec![self.features(), rows], sparse)));
        let tensors: Vec<(&str, Vec<usize>, Vec<u8>)> = tensors
            .into_iter()
            .map(|(name, shape, numbers)| {
                (name, shape, numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
            })
            .collect();
        let invalid = |fault: safetensors::SafeTensorError| failed(std::io::Error::other(fault));
        let views = tensors
            .iter()
            .map(|(name, shape, bytes)| Ok((*name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(invalid)?;
        let stored = StoredRecord { format: FORMAT, record: &self.record };
        let stored = serde_json::to_string(&stored).map_err(|fault| failed(fault.into()))?;
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), stored)]);
        let bytes = safetensors::serialize(views, Some(metadata)).map_err(invalid)?;
        atomic_file::write(path, |file| file.write_all(&bytes)).map_err(failed)
    }
}
