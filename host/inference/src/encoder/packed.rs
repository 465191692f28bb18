//! An encoder's weights as the kernels take them: quantised, in panels, in one mapped image.
//!
//! The image is the same in memory and as a cache file. A cache file is only believed if its header repeats what
//! the model's folder implies (`file`); its layout is computed from the configuration, never read from the file.

mod build;
mod damage;
mod file;
mod layout;
mod names;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

use self::damage::Damage;
use crate::encoder::config::Config;
use crate::encoder::dtype::Dtype;
use crate::error::LoadError;
use crate::folder::contents::digest_all;
use crate::progress::Silent;
use crate::tensors::{Tensors, shards};
use bulkhead_kernels::{
    LANES,
    panels::{PanelsF32, PanelsI8},
};

pub(crate) use layout::{Layer, Layout, Linear, Norm, Section};

/// The image and its layout.
pub(crate) struct Packed {
    map: Mmap,
    layout: Layout,
    digest: [u8; 32],
    damage: Damage,
}

impl Packed {
    /// Opens the packed weights of a model folder: from the cache folder if a valid file lies there, else from
    /// `model.safetensors` or the files listed in its place, leaving a file in the cache.
    ///
    /// # Errors
    ///
    /// When the weights cannot be read or are not those of the configuration. A fault of the cache alone is logged
    /// and repaired.
    pub(crate) fn open(
        folder: &Path,
        config: &Config,
        dtype: Dtype,
        cache: Option<&Path>,
    ) -> Result<Self, LoadError> {
        let layout = Layout::new(config, dtype);
        let weights = shards::weights(folder);
        let entry = match cache {
            Some(cache) => Some(file::Entry::new(cache, &weights, &layout)?),
            None => None,
        };
        if let Some(file::Opened { map, digest, damage }) = entry.as_ref().and_then(file::Entry::open) {
            return Ok(Self { map, layout, digest, damage });
        }
        // What was packed just now is read as it was written.
        let damage = Damage::default();
        let tensors = Tensors::open(&weights)?;
        let source = build::Source::find(&tensors, config)?;
        let digest = digest_all(&shards::files(&weights)?, &mut Silent)?;
        if let Some(entry) = &entry {
            let written = entry.write(digest, |image| source.pack(&layout, image));
            match written {
                Ok(map) => return Ok(Self { map, layout, digest, damage }),
                Err(file::WriteError::Model(fault)) => return Err(fault),
                Err(file::WriteError::Cache(fault)) => {
                    tracing::warn!("{}: packed weights are not kept: {fault}", entry.path().display());
                }
            }
        }
        let failed = |fault| LoadError::read(&weights, fault);
        let mut map = memmap2::MmapMut::map_anon(layout::HEADER + layout.length).map_err(failed)?;
        source.pack(&layout, map.get_mut(layout::HEADER..).unwrap_or_default())?;
        Ok(Self { map: map.make_read_only().map_err(failed)?, layout, digest, damage })
    }

    /// Returns where everything lies.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the sha256 of the file the weights came from.
    pub(crate) fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Returns whether the image differs from the one that was packed.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damage.is_found()
    }

    /// Returns a section's bytes; empty if it lies outside the image, which the length check at opening excludes.
    fn bytes(&self, section: Section) -> &[u8] {
        let start = layout::HEADER + section.offset;
        self.map.get(start..start + section.length).unwrap_or_default()
    }

    /// Returns a section of f32.
    pub(crate) fn f32s(&self, section: Section) -> &[f32] {
        // SAFETY: any four bytes are an f32; sections are aligned to 64 bytes in a mapping, which is aligned to
        // pages, so that nothing is cut off.
        #[allow(unsafe_code)]
        let (_, elements, _) = unsafe { self.bytes(section).align_to::<f32>() };
        elements
    }

    /// Returns a section of signed bytes.
    pub(crate) fn i8s(&self, section: Section) -> &[i8] {
        // SAFETY: any byte is an i8.
        #[allow(unsafe_code)]
        let (_, elements, _) = unsafe { self.bytes(section).align_to::<i8>() };
        elements
    }

    /// Returns panels of an int8 linear layer: some of its output channels (whole panels) and one part of its inner
    /// dimension. The bias comes with part 0.
    pub(crate) fn panels_i8(&self, linear: &Linear, channels: Range<usize>, part: usize) -> PanelsI8<'_> {
        let start = part * linear.part;
        let data = self.i8s(linear.data).get(channels.start * linear.k + start * LANES..);
        let sums = part * linear.n;
        PanelsI8 {
            data: data.unwrap_or_default(),
            stride: LANES * linear.k,
            k: linear.padded(part),
            scale: self.f32s(linear.scale).get(channels.clone()).unwrap_or_default(),
            sum: self.f32s(linear.sum).get(sums + channels.start..sums + channels.end).unwrap_or_default(),
            bias: self.bias(linear, channels, part),
        }
    }

    /// Returns panels of an f32 linear layer, of whole panels of its output channels.
    pub(crate) fn panels_f32(&self, linear: &Linear, channels: Range<usize>) -> PanelsF32<'_> {
        let data = self.f32s(linear.data).get(channels.start * linear.k..channels.end * linear.k);
        PanelsF32 { data: data.unwrap_or_default(), k: linear.k, bias: self.bias(linear, channels, 0) }
    }

    fn bias(&self, linear: &Linear, channels: Range<usize>, part: usize) -> &[f32] {
        let bias = self.f32s(if part == 0 { linear.bias } else { self.layout.zeros });
        bias.get(channels).unwrap_or_default()
    }
}
