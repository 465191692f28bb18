//! Memory-mapped safetensors files, whose tensors are read in place.

pub mod shards;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::SafeTensors;
use safetensors::tensor::{Metadata, TensorInfo};

use crate::error::LoadError;

/// The tensors of one file, or of the several that a list names.
pub struct Tensors {
    path: PathBuf,
    files: Vec<Mapped>,
}

struct Mapped {
    map: Mmap,
    metadata: Metadata,
    /// Where the tensors' bytes begin in the file.
    base: usize,
}

/// Where a tensor's bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLocation {
    file: usize,
    bytes: Range<usize>,
}

/// One tensor: shape, element type and little-endian bytes in row-major order.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    /// Element type.
    pub dtype: safetensors::Dtype,
    /// Length of each dimension.
    pub shape: &'a [usize],
    /// The elements; the length is checked against the shape.
    pub bytes: &'a [u8],
}

impl Tensors {
    /// Maps a file, or those that a `model.safetensors.index.json` lists, and checks each header: offsets inside the
    /// file, lengths that fit the shapes.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is not a safetensors file, or the list names a tensor that is not where it says.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let paths = shards::files(path)?;
        let files = paths.iter().map(|path| Mapped::open(path)).collect::<Result<Vec<_>, _>>()?;
        for (tensor, name) in shards::read(path)?.iter().flatten() {
            let file =
                paths.iter().position(|path| path.file_name().is_some_and(|file| file == name.as_str()));
            let found = file.and_then(|file| files.get(file)?.metadata.info(tensor));
            if found.is_none() {
                return Err(LoadError::malformed(path, format!("tensor `{tensor}` is not in {name}")));
            }
        }
        Ok(Self { path: path.to_path_buf(), files })
    }

    /// Returns the file, or the list of files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of all tensors.
    pub fn names(&self) -> Vec<String> {
        self.files.iter().flat_map(|file| file.metadata.offset_keys()).collect()
    }

    /// Returns an entry of the file's metadata.
    pub fn metadata_entry(&self, key: &str) -> Option<&str> {
        self.files.iter().find_map(|file| file.metadata.metadata().as_ref()?.get(key).map(String::as_str))
    }

    /// Returns one tensor, if the files have it.
    pub fn get(&self, name: &str) -> Option<Tensor<'_>> {
        self.files.iter().find_map(|file| {
            let TensorInfo { dtype, shape, .. } = file.metadata.info(name)?;
            Some(Tensor { dtype: *dtype, shape, bytes: file.map.get(file.locate(name)?)? })
        })
    }

    /// Returns where one tensor's bytes lie, for [`Self::slice`]: spares the search by name where a tensor is read
    /// for each text.
    pub fn locate(&self, name: &str) -> Option<TensorLocation> {
        let mut places = self.files.iter().enumerate();
        places.find_map(|(file, mapped)| Some(TensorLocation { file, bytes: mapped.locate(name)? }))
    }

    /// Returns the bytes at a location; empty if it lies outside the files.
    pub fn slice(&self, location: &TensorLocation) -> &[u8] {
        self.files
            .get(location.file)
            .and_then(|file| file.map.get(location.bytes.clone()))
            .unwrap_or_default()
    }

    /// Returns one tensor of a known shape.
    ///
    /// # Errors
    ///
    /// When the file lacks it or its shape differs.
    pub fn require(&self, name: &str, shape: &[usize]) -> Result<Tensor<'_>, LoadError> {
        let tensor = self
            .get(name)
            .ok_or_else(|| LoadError::malformed(&self.path, format!("tensor `{name}` is missing")))?;
        if tensor.shape != shape {
            let reason = format!("tensor `{name}` has shape {:?}, not {shape:?}", tensor.shape);
            return Err(LoadError::malformed(&self.path, reason));
        }
        Ok(tensor)
    }
}

impl Mapped {
    fn open(path: &Path) -> Result<Self, LoadError> {
        let file = File::open(path).map_err(|source| LoadError::read(path, source))?;
        // SAFETY: the map is read only. Shortening a model's file in place while it is served breaks the process, as
        // with any mapped file; models are replaced by renaming, and SECURITY.md says so.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(|source| LoadError::read(path, source))?;
        let (header, metadata) = SafeTensors::read_metadata(&map)
            .map_err(|fault| LoadError::malformed(path, fault.to_string()))?;
        let base = header + size_of::<u64>();
        Ok(Self { map, metadata, base })
    }

    /// Returns the range of one tensor's bytes in the file.
    fn locate(&self, name: &str) -> Option<Range<usize>> {
        let (from, to) = self.metadata.info(name)?.data_offsets;
        let place = self.base.checked_add(from)?..self.base.checked_add(to)?;
        self.map.get(place.clone()).map(|_| place)
    }
}

impl Tensor<'_> {
    /// Returns the elements as f32, converted from F64, F32, F16, BF16 or I8 (unscaled); `None` for other types.
    pub fn to_f32(&self) -> Option<Vec<f32>> {
        use safetensors::Dtype;
        Some(match self.dtype {
            Dtype::F64 => elements(self.bytes, |bytes| f64::from_le_bytes(bytes) as f32),
            Dtype::F32 => elements(self.bytes, f32::from_le_bytes),
            Dtype::F16 => elements(self.bytes, |bytes| half::f16::from_le_bytes(bytes).to_f32()),
            Dtype::BF16 => elements(self.bytes, |bytes| half::bf16::from_le_bytes(bytes).to_f32()),
            Dtype::I8 => elements(self.bytes, |bytes| f32::from(i8::from_le_bytes(bytes))),
            _ => return None,
        })
    }
}

fn elements<const SIZE: usize, T>(bytes: &[u8], read: impl Fn([u8; SIZE]) -> T) -> Vec<T> {
    bytes.as_chunks::<SIZE>().0.iter().map(|chunk| read(*chunk)).collect()
}
