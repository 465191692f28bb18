//! Encoders of BERT's shape (BERT, MiniLM, RoBERTa, XLM-R, DistilBERT, MPNet, e5, bge) and later ones (ModernBERT, NomicBERT,
//! GTE): from token ids to vectors.
//!
//! The mathematics is that of transformers' `BertModel`: word, position and type vectors are added and
//! normalised; each layer is self-attention and a feed-forward block, each added to its input and normalised
//! after. ModernBERT normalises before; it and the other later ones turn queries and keys, and multiply the activations of
//! the feed-forward block with a second product. Texts of a batch lie one after the other without padding.

pub(crate) mod config;
mod dtype;
mod forward;
mod packed;
pub(crate) mod parallel;
mod relative;
mod rotary;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};

use bulkhead_kernels::{Kernel, Operations};

use crate::error::{EmbedError, LoadError};
use crate::pooling::Pooling;
use config::Config;
use packed::Packed;

pub use dtype::Dtype;
pub use forward::Scratch;

/// Tokens that go through a layer together: more gains nothing, and their activations would leave the second
/// cache.
pub const UNIT_TOKENS: usize = 512;

/// The mark of a token of the second of two texts, beside its id: models with two types of tokens tell them apart.
pub const SECOND_TEXT: u32 = 1 << 31;

/// Settings of an encoder.
#[derive(Clone, Debug, Default)]
pub struct EncoderOptions {
    /// What it calculates with.
    pub dtype: Dtype,
    /// The kernel; `None` for the best that the processor runs.
    pub kernel: Option<Kernel>,
    /// A folder for packed weights, which make the next start take milliseconds; `None` keeps them in memory.
    pub cache: Option<PathBuf>,
}

/// Vectors of a text's tokens, one a row.
#[derive(Clone, Copy)]
pub(crate) struct TokenRows<'r> {
    /// `[tokens][stride]`, of which the first [`Encoder::dims`] numbers of each row count.
    pub(crate) rows: &'r [f32],
    /// Length of a row.
    pub(crate) stride: usize,
}

/// Sees the token vectors of a text, by its number.
pub(crate) type Visit<'v> = dyn FnMut(usize, TokenRows<'_>) + 'v;

/// Follows the embedding of a batch.
pub(crate) trait BatchHooks {
    /// Sees the token vectors of a text, by its number.
    fn see(&mut self, text: usize, rows: TokenRows<'_>);

    /// Runs between two steps of an encoder, which take about as long as each other: the thread may do other work
    /// meanwhile.
    fn pause(&mut self);
}

impl BatchHooks for () {
    fn see(&mut self, _: usize, _: TokenRows<'_>) {}

    fn pause(&mut self) {}
}

/// Hooks of a batch for one unit of it, whose texts are numbered from 0.
struct UnitHooks<'h> {
    batch: &'h mut dyn BatchHooks,
    /// The batch's texts before the unit.
    before: usize,
}

impl BatchHooks for UnitHooks<'_> {
    fn see(&mut self, text: usize, rows: TokenRows<'_>) {
        self.batch.see(self.before + text, rows);
    }

    fn pause(&mut self) {
        self.batch.pause();
    }
}

/// A loaded encoder. It is immutable: any number of threads embed with one.
pub struct Encoder {
    config: Config,
    dtype: Dtype,
    kernel: Kernel,
    operations: &'static Operations,
    packed: Packed,
}

impl Encoder {
    /// Opens a model folder: `config.json` and `model.safetensors`.
    ///
    /// # Errors
    ///
    /// When a file is missing or malformed, the architecture is not served, or the processor does not run the
    /// kernel asked for.
    pub fn open(folder: &Path, options: &EncoderOptions) -> Result<Self, LoadError> {
        let config = Config::read(folder)?;
        let kernel = options.kernel.unwrap_or_else(Kernel::detect);
        let operations = kernel.operations().ok_or_else(|| LoadError::Kernel {
            kernel: kernel.name(),
            available: Kernel::available().iter().map(|kernel| kernel.name()).collect::<Vec<_>>().join(", "),
        })?;
        let packed = Packed::open(folder, &config, options.dtype, options.cache.as_deref())?;
        Ok(Self { config, dtype: options.dtype, kernel, operations, packed })
    }

    /// Returns the dimensions of a vector.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.config.hidden
    }

    /// Returns the most tokens of a text, special ones among them.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.config.max_tokens()
    }

    /// Returns the number of token ids.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.config.vocabulary
    }

    /// Returns the numbers that the encoder calculates with.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the kernel's operations, for what follows the encoder.
    pub(crate) fn operations(&self) -> &'static Operations {
        self.operations
    }

    /// Returns the kernel in use.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Returns the sha256 of `model.safetensors`.
    #[must_use]
    pub fn weights_sha256(&self) -> [u8; 32] {
        self.packed.digest()
    }

    /// Returns how many equal steps the embedding of a batch has, between which its hooks may do other work: a layer's
    /// feed-forward block is one and takes two thirds of the layer.
    pub(crate) fn steps(&self) -> usize {
        self.config.layers.saturating_mul(3) / 2
    }

    /// Returns the multiplications and additions in the matrix products of one text of `tokens` tokens.
    #[must_use]
    pub fn work(&self, tokens: usize) -> u64 {
        let Config { hidden, inner, layers, gated, .. } = self.config;
        let feeds = if gated { 3 } else { 2 };
        let token = 2 * (4 * hidden * hidden + feeds * hidden * inner) + 4 * tokens * hidden;
        (layers * tokens * token) as u64
    }

    /// Embeds texts: the ids of text t are `ids[offsets[t]..offsets[t + 1]]`, special tokens among them, those of the
    /// second of two texts with [`SECOND_TEXT`]; its vector, not normalised, goes to `out[t * dims..]`. A vector depends on its text alone, to the last bit.
    ///
    /// # Errors
    ///
    /// When offsets or `out` (`[n, dims]`) do not fit, or a text is empty, too long, or has an id outside the
    /// vocabulary; `out` is undefined then.
    pub fn embed(
        &self,
        ids: &[u32],
        offsets: &[usize],
        pooling: Pooling,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(), EmbedError> {
        self.embed_followed(ids, offsets, pooling, scratch, out, &mut ())
    }

    /// Embeds texts as [`Self::embed`] does, followed by `hooks`.
    pub(crate) fn embed_followed(
        &self,
        ids: &[u32],
        offsets: &[usize],
        pooling: Pooling,
        scratch: &mut Scratch,
        out: &mut [f32],
        hooks: &mut dyn BatchHooks,
    ) -> Result<(), EmbedError> {
        self.check(ids, offsets, out.len())?;
        let mut out = out;
        let mut rest = offsets;
        while rest.len() > 1 {
            let texts = unit(rest, UNIT_TOKENS);
            let (vectors, later) = out.split_at_mut(texts * self.dims());
            let before = offsets.len() - rest.len();
            let mut unit_hooks = UnitHooks { batch: &mut *hooks, before };
            let bounds = rest.get(..=texts).unwrap_or_default();
            self.forward(ids, bounds, pooling, scratch, vectors, &mut unit_hooks);
            if let Some(at) = vectors.iter().position(|x| !x.is_finite()) {
                return Err(EmbedError::NotFinite { text: before + at / self.dims() });
            }
            out = later;
            rest = rest.get(texts..).unwrap_or_default();
        }
        Ok(())
    }

    /// Checks all that comes from outside, so that the forward pass need not.
    pub(crate) fn check(&self, ids: &[u32], offsets: &[usize], out: usize) -> Result<(), EmbedError> {
        if self.packed.is_damaged() {
            return Err(EmbedError::Damaged);
        }
        let texts = offsets.len().saturating_sub(1);
        let shape = |reason| Err(EmbedError::Shape { texts, reason });
        if offsets.first() != Some(&0) || offsets.last() != Some(&ids.len()) {
            return shape("offsets do not run from 0 to the number of ids");
        }
        if !offsets.is_sorted() {
            return shape("offsets go down");
        }
        if texts.checked_mul(self.dims()) != Some(out) {
            return shape("the output is not [texts, dims]");
        }
        for (text, (from, to)) in offsets.iter().zip(offsets.iter().skip(1)).enumerate() {
            let (tokens, limit) = (to - from, self.max_tokens());
            if tokens == 0 {
                return Err(EmbedError::Empty { text });
            }
            if tokens > limit {
                return Err(EmbedError::TooLong { text, tokens, limit });
            }
            let vocabulary = self.vocabulary();
            let ids = ids.get(*from..*to).unwrap_or_default();
            if let Some(id) = ids.iter().find(|id| (**id & !SECOND_TEXT) as usize >= vocabulary) {
                return Err(EmbedError::Vocabulary { text, id: *id, vocabulary });
            }
        }
        Ok(())
    }
}

/// Returns how many texts of ascending `offsets` go together: as many as `tokens` hold, at least one.
pub(crate) fn unit(offsets: &[usize], tokens: usize) -> usize {
    let first = offsets.first().copied().unwrap_or(0);
    let fit = offsets.iter().skip(1).take_while(|end| *end - first <= tokens).count();
    fit.clamp(1, offsets.len().saturating_sub(1).max(1))
}
