//! Where each tensor lies in the image; a function of the configuration and the element type alone.

use std::ops::Range;

use crate::encoder::config::Config;
use crate::encoder::dtype::Dtype;
use bulkhead_kernels::{
    LANES,
    panels::{pad_inner, pad_lanes},
};

/// Bytes before the image: one page, so that sections keep their alignment.
pub(super) const HEADER: usize = 4096;
/// Sections start at multiples of a cache line, which is also a vector of AVX-512.
const ALIGN: usize = 64;

/// Inner length of the parts that an int8 product with a long inner dimension is cut into, so that weights and
/// activations of a part share the second cache; activations have a scale for each part. A multiple of 64.
const PART: usize = 384;

/// No parts.
const WHOLE: usize = usize::MAX;

/// A run of bytes in the image, counted from the end of the header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

/// A linear layer: panels and what goes with each output channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    /// Output channels, padded to whole panels.
    pub(crate) n: usize,
    /// Inner length, padded for int8.
    pub(crate) k: usize,
    /// Inner length of a part; the last part may be shorter.
    pub(crate) part: usize,
    pub(crate) data: Section,
    /// Int8 only, as `sum`; empty for f32.
    pub(crate) scale: Section,
    /// `[parts][n]`.
    pub(crate) sum: Section,
    pub(crate) bias: Section,
}

/// Scale and shift of a layer normalisation, padded with zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norm {
    pub(crate) gamma: Section,
    pub(crate) beta: Section,
}

/// One layer of the encoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    /// Queries (scaled by `log2(e) / sqrt(head)`), keys and values: `3 * heads * padded head` channels.
    pub(crate) qkv: Linear,
    pub(crate) project: Linear,
    pub(crate) attention_norm: Norm,
    /// With a gate twice as many channels: those that are activated, then those that they are multiplied by.
    pub(crate) up: Linear,
    pub(crate) down: Linear,
    pub(crate) output_norm: Norm,
    /// Whether it attends to near tokens only.
    pub(crate) is_local: bool,
}

/// The whole image.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) dtype: Dtype,
    /// Sizes padded to whole vectors: of a token's vector, of a head, of the feed-forward block.
    pub(crate) hidden: usize,
    pub(crate) head: usize,
    pub(crate) inner: usize,
    /// Word vectors `[vocabulary][hidden]`, i8 or f32.
    pub(crate) words: Section,
    /// `[vocabulary]`, int8 only.
    pub(crate) word_scale: Section,
    /// `[positions][hidden]` f32, with row 0 of the token types added; one row for all where positions are rotary.
    pub(crate) positions: Section,
    /// `[hidden]` f32: row 1 of the token types less row 0; empty where there is no row 1.
    pub(crate) second: Section,
    /// `[heads][buckets]` f32: what is added to scores of attention, by distance; empty without.
    pub(crate) relative: Section,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
    /// `[hidden]` zeros: the bias of all parts but the first.
    pub(crate) zeros: Section,
    /// Bytes of the image, without the header.
    pub(crate) length: usize,
}

impl Linear {
    /// Returns the number of parts of the inner dimension.
    pub(crate) fn parts(&self) -> usize {
        self.k.div_ceil(self.part)
    }

    /// Returns the inner length of a part, padded as a whole.
    pub(crate) fn padded(&self, part: usize) -> usize {
        self.part.min(self.k - part * self.part)
    }

    /// Returns the range of a part in an inner dimension of `inner`, which padding may exceed.
    pub(crate) fn inner(&self, part: usize, inner: usize) -> Range<usize> {
        part * self.part..inner.min((part + 1) * self.part)
    }
}

/// Hands out sections one after the other.
struct Cursor {
    at: usize,
    dtype: Dtype,
}

impl Cursor {
    fn take(&mut self, length: usize) -> Section {
        let section = Section { offset: self.at, length };
        self.at = (self.at + length).next_multiple_of(ALIGN);
        section
    }

    fn f32s(&mut self, count: usize) -> Section {
        self.take(count * size_of::<f32>())
    }

    fn norm(&mut self, hidden: usize) -> Norm {
        Norm { gamma: self.f32s(hidden), beta: self.f32s(hidden) }
    }

    /// Lays out a linear layer. `part`: most of the inner dimension that goes through an int8 product at a time.
    fn linear(&mut self, n: usize, k: usize, part: usize) -> Linear {
        let bias = self.f32s(n);
        match self.dtype {
            Dtype::Int8 => {
                let k = pad_inner(k);
                let part = part.min(k);
                let sum = self.f32s(n * k.div_ceil(part));
                Linear { n, k, part, data: self.take(n * k), scale: self.f32s(n), sum, bias }
            }
            Dtype::Float32 => {
                let none = Section { offset: 0, length: 0 };
                Linear { n, k, part: k, data: self.f32s(n * k), scale: none, sum: none, bias }
            }
        }
    }
}

impl Layout {
    /// Lays out a configuration. Its sizes were bounded when it was read, so the sums stay inside 64 bits.
    pub(crate) fn new(config: &Config, dtype: Dtype) -> Self {
        let hidden = pad_lanes(config.hidden);
        let head = pad_lanes(config.head());
        let inner = pad_lanes(config.inner);
        let width = config.heads * head;
        let mut cursor = Cursor { at: 0, dtype };
        let (words, word_scale) = match dtype {
            Dtype::Int8 => (cursor.take(config.vocabulary * hidden), cursor.f32s(config.vocabulary)),
            Dtype::Float32 => (cursor.f32s(config.vocabulary * hidden), cursor.f32s(0)),
        };
        let positions = cursor.f32s(config.position_rows() * hidden);
        let second = cursor.f32s(if config.types > 1 { hidden } else { 0 });
        let relative = cursor.f32s(config.heads * config.buckets);
        let norm = cursor.norm(hidden);
        let up = if config.gated { 2 * inner } else { inner };
        let layers = (0..config.layers)
            .map(|index| Layer {
                qkv: cursor.linear(3 * width, hidden, WHOLE),
                project: cursor.linear(hidden, width, WHOLE),
                attention_norm: cursor.norm(hidden),
                up: cursor.linear(up, hidden, WHOLE),
                down: cursor.linear(hidden, inner, PART),
                output_norm: cursor.norm(hidden),
                is_local: config.rotary.is_some_and(|rotary| rotary.is_local(index)),
            })
            .collect();
        let zeros = cursor.f32s(hidden);
        let length = cursor.at;
        Self {
            dtype,
            hidden,
            head,
            inner,
            words,
            word_scale,
            positions,
            second,
            relative,
            norm,
            layers,
            zeros,
            length,
        }
    }

    /// Returns what distinguishes this layout from others, for a cache file's header.
    pub(crate) fn fingerprint(&self) -> String {
        format!("lanes {LANES} {self:?}")
    }
}
