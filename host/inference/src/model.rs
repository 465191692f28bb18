//! One loaded model of either family: from text to vectors.

mod batch;
mod cache;
mod inspect;
mod speed;
#[cfg(test)]
pub(crate) mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::encoder::{Dtype, Encoder, EncoderOptions};
use crate::error::{EmbedError, LoadError};
use crate::folder::{Family, ModelFolder, WeightsSource};
use crate::late_interaction::LateInteraction;
use crate::pooling::Pooling;
use crate::progress::Silent;
use crate::static_model::{self, StaticModel};
use bulkhead_kernels::Kernel;
use bulkhead_tokenizers::{EncodeOptions, Token, TokenizeError, Tokenizer};

use self::speed::MeasuredSpeed;

pub use self::inspect::inspect;
pub(crate) use self::speed::LEAST_TOKENS;
pub use bulkhead_tokenizers::TruncationSide;

pub(crate) use crate::encoder::parallel::WorkGroup;
pub(crate) use crate::encoder::{BatchHooks, TokenRows};
pub use crate::encoder::{Scratch, UNIT_TOKENS as BATCH_TOKENS};

/// Default limit of tokens of a text: that of the replaced server.
pub const MAX_INPUT_LENGTH: usize = 512;

/// Settings of loading a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// What encoders calculate with.
    pub dtype: Dtype,
    /// The kernel; `None` for the best that the processor runs.
    pub kernel: Option<Kernel>,
    /// Folder for packed weights and tokenisers, which make the next start take milliseconds.
    pub cache: Option<PathBuf>,
    /// Most tokens of a text; the model's own limit stays the upper bound.
    pub max_input_length: Option<usize>,
    /// How encoders pool the vectors of tokens; `None` leaves it to the model.
    pub pooling: Option<Pooling>,
}

/// The description of a model.
#[derive(Clone, Debug)]
pub struct Description {
    /// Length of its vectors.
    pub dims: usize,
    /// Most tokens of a text, special tokens included.
    pub max_input_length: usize,
    /// `mean`, `cls` or `last_token`.
    pub pooling: &'static str,
    /// What it calculates with.
    pub dtype: String,
    /// Whether vectors have length 1 unless a caller says otherwise.
    pub normalize: bool,
    /// Texts put before an input, by name.
    pub prompts: BTreeMap<String, String>,
    /// Where the weights come from.
    pub source: WeightsSource,
    /// SHA-256 of the weights file, hex.
    pub weights_sha256: String,
    /// SHA-256 of the file that token vectors are made with, hex; `None` for a model without.
    pub late_interaction: Option<String>,
}

/// How texts are embedded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Put before each text.
    pub prompt: Option<Arc<str>>,
    /// Refuse a text that is too long instead of cutting it.
    pub refuse_long: bool,
    /// Where a text that is too long is cut.
    pub side: TruncationSide,
    /// Scale vectors to length 1; `None` leaves it to the model.
    pub normalize: Option<bool>,
    /// Keep only the first numbers of each vector.
    pub dimensions: Option<usize>,
    /// Vectors of the tokens too, where the model makes them.
    pub token_vectors: bool,
}

/// A text that cannot be embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// It has more tokens than the model takes, and was not to be cut.
    #[error("it has {}, the limit is {limit}", tokens(*count, *limit))]
    TooLong {
        /// Tokens, special tokens included; `None` if it is so long that they were not all counted.
        count: Option<usize>,
        /// The limit.
        limit: usize,
    },
    /// One of its token ids is outside the vocabulary.
    #[error("it has the token id {id}, the vocabulary ends before {bound}")]
    Id {
        /// The id.
        id: u32,
        /// The first that there is not.
        bound: u32,
    },
    /// It has no tokens.
    #[error("it has no tokens")]
    Empty,
    /// It cannot be tokenised.
    #[error("it cannot be tokenised: {0}")]
    Tokenize(String),
}

fn tokens(count: Option<usize>, limit: usize) -> String {
    count.map_or_else(|| format!("more than {limit} tokens"), |count| format!("{count} tokens"))
}

/// The token ids of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokenized {
    /// The ids, special tokens included where the model wants them.
    pub ids: Vec<u32>,
    /// Whether the text was cut.
    pub truncated: bool,
}

/// A loaded model, shared by all who embed with it.
pub struct Model {
    description: Description,
    network: Network,
    late_interaction: Option<LateInteraction>,
    speed: MeasuredSpeed,
}

enum Network {
    Encoder(Arc<Encoder>, Pooling, Box<Tokenizer>),
    Static(Box<StaticModel>),
    /// A static model in the batches of an encoder, which panics at one token id and fails at another.
    #[cfg(test)]
    Faulty {
        model: Box<StaticModel>,
        panics_at: u32,
        fails_at: u32,
    },
}

impl Model {
    /// Loads the model in `folder`.
    ///
    /// # Errors
    ///
    /// When a file is missing or malformed, or the model is of a kind that is not served; the message names the
    /// file.
    pub fn load(folder: &Path, options: &LoadOptions) -> Result<Self, LoadError> {
        let folder = ModelFolder::open(folder)?;
        match folder.family {
            Family::Encoder(_) => Self::encoder(&folder, options),
            Family::Static => Self::static_model(&folder, options),
        }
    }

    fn encoder(folder: &ModelFolder, options: &LoadOptions) -> Result<Self, LoadError> {
        let encoder =
            EncoderOptions { dtype: options.dtype, kernel: options.kernel, cache: options.cache.clone() };
        let encoder = Encoder::open(&folder.path, &encoder)?;
        let tokenizer = cache::tokenizer(&folder.tokenizer, options.cache.as_deref())?;
        let bound = tokenizer.id_bound(true) as usize;
        if bound > encoder.vocabulary() {
            let reason = format!("has ids up to {bound}, the model only {} vectors", encoder.vocabulary());
            return Err(LoadError::malformed(&folder.tokenizer, reason));
        }
        let late_interaction = LateInteraction::open(&folder.path, encoder.dims())?;
        let most = folder.max_length.unwrap_or(usize::MAX).min(encoder.max_tokens());
        let pooling = options.pooling.unwrap_or(folder.pooling);
        let description = Description {
            dims: encoder.dims(),
            max_input_length: options.max_input_length.unwrap_or(MAX_INPUT_LENGTH).min(most),
            pooling: pooling.name(),
            dtype: encoder.dtype().name().to_owned(),
            normalize: folder.normalize.unwrap_or(true),
            prompts: folder.prompts.by_name.clone(),
            source: folder.weights_source(),
            weights_sha256: hex::encode(encoder.weights_sha256()),
            late_interaction: late_interaction.as_ref().map(|found| found.sha256().to_owned()),
        };
        Ok(Self {
            description,
            late_interaction,
            speed: MeasuredSpeed::default(),
            network: Network::Encoder(Arc::new(encoder), pooling, Box::new(tokenizer)),
        })
    }

    fn static_model(folder: &ModelFolder, options: &LoadOptions) -> Result<Self, LoadError> {
        let tokenizer = cache::tokenizer(&folder.tokenizer, options.cache.as_deref())?;
        let model = StaticModel::open(&folder.path, tokenizer)?;
        let description = Description {
            dims: model.dims(),
            // A mean of rows has no longest text of its own: what the operator says holds.
            max_input_length: options
                .max_input_length
                .unwrap_or_else(|| MAX_INPUT_LENGTH.min(model.max_length().unwrap_or(usize::MAX))),
            pooling: Pooling::Mean.name(),
            dtype: format!("{:?}", model.dtype()).to_lowercase(),
            normalize: folder.normalize.unwrap_or(true),
            prompts: folder.prompts.by_name.clone(),
            source: folder.weights_source(),
            weights_sha256: folder.weights_sha256(&mut Silent)?.to_owned(),
            late_interaction: None,
        };
        Ok(Self {
            description,
            late_interaction: None,
            speed: MeasuredSpeed::default(),
            network: Network::Static(Box::new(model)),
        })
    }

    /// Returns the model's description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the length of its vectors.
    pub fn dims(&self) -> usize {
        self.description.dims
    }

    /// Returns whether texts gain by being embedded together.
    pub fn batches(&self) -> bool {
        !matches!(self.network, Network::Static(_))
    }

    /// Returns a text's token ids, cut to the model's limit unless that is to be refused.
    ///
    /// # Errors
    ///
    /// When the text is too long and not to be cut, or cannot be tokenised.
    pub fn tokenize(&self, text: &str, options: &EmbedOptions) -> Result<Tokenized, TextError> {
        let prompt = options.prompt.as_deref();
        let text = prompt.map_or(Cow::Borrowed(text), |prompt| Cow::Owned(format!("{prompt}{text}")));
        let limit = self.description.max_input_length;
        let encode = EncodeOptions { limit, side: options.side, special_tokens: self.is_encoder() };
        let mut ids = Vec::new();
        let encoded = self.tokenizer().encode(&text, encode, &mut ids);
        let encoded = encoded.map_err(|error: TokenizeError| TextError::Tokenize(error.to_string()))?;
        let truncated = encoded.is_cut();
        if truncated && options.refuse_long {
            return Err(TextError::TooLong { count: encoded.count, limit });
        }
        Ok(Tokenized { ids, truncated })
    }

    /// Checks token ids that the caller made, special tokens included.
    ///
    /// # Errors
    ///
    /// When there are none or too many, or one is outside the vocabulary.
    pub fn take_ids(&self, ids: &[u32]) -> Result<Tokenized, TextError> {
        let (count, limit) = (ids.len(), self.description.max_input_length);
        if count == 0 {
            return Err(TextError::Empty);
        }
        if count > limit {
            return Err(TextError::TooLong { count: Some(count), limit });
        }
        let bound = self.tokenizer().id_bound(self.is_encoder());
        match ids.iter().find(|id| **id >= bound) {
            Some(id) => Err(TextError::Id { id: *id, bound }),
            None => Ok(Tokenized { ids: ids.to_vec(), truncated: false }),
        }
    }

    /// Returns a text's tokens with their places in it, uncut.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenised.
    pub fn tokens(&self, text: &str, special_tokens: bool) -> Result<Vec<Token>, TextError> {
        let tokens = self.tokenizer().tokens(text, special_tokens && self.is_encoder());
        tokens.map_err(|error| TextError::Tokenize(error.to_string()))
    }

    /// Embeds texts whose ids lie one after the other in `ids`, text `i` from `offsets[i]` to `offsets[i + 1]`.
    /// Writes `[n, dims]` f32 vectors into `out`; [`Model::finish`] makes them what a caller wants.
    ///
    /// # Errors
    ///
    /// When an id is outside the vocabulary, a text is too long, or the shapes do not fit.
    pub fn embed(
        &self,
        ids: &[u32],
        offsets: &[usize],
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(), EmbedError> {
        self.embed_followed(ids, offsets, scratch, out, &mut ())
    }

    /// Returns whether the model is an encoder: encoders want their special tokens, static models know none.
    pub fn is_encoder(&self) -> bool {
        matches!(self.network, Network::Encoder(..))
    }

    fn tokenizer(&self) -> &Tokenizer {
        match &self.network {
            Network::Encoder(_, _, tokenizer) => tokenizer,
            Network::Static(model) => model.tokenizer(),
            #[cfg(test)]
            Network::Faulty { model, .. } => model.tokenizer(),
        }
    }

    /// Cuts and scales a raw vector as the caller wants it.
    pub fn finish<'v>(&self, vector: &'v mut [f32], options: &EmbedOptions) -> &'v [f32] {
        let kept = options.dimensions.unwrap_or(vector.len()).min(vector.len());
        let (vector, _) = vector.split_at_mut(kept);
        if options.normalize.unwrap_or(self.description.normalize) {
            static_model::normalize(vector);
        }
        vector
    }
}
