//! One loaded model of either family: from text to vectors.

mod batch;
mod cache;
mod heads;
mod speed;
#[cfg(test)]
pub(crate) mod tests;
mod tokens;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::encoder::{Dtype, Encoder, EncoderOptions};
use crate::error::{EmbedError, LoadError};
use crate::folder::{Family, ModelFolder, WeightsSource};
use crate::late_interaction::LateInteraction;
use crate::pooling::Pooling;
use crate::progress::Silent;
use crate::static_model::StaticModel;
use bulkhead_kernels::Kernel;
use bulkhead_tokenizers::Tokenizer;

use self::heads::ModelHead;
use self::speed::MeasuredSpeed;

pub use self::heads::ModelOutput;
pub(crate) use self::speed::LEAST_TOKENS;
pub use self::tokens::{TextError, Tokenized};
pub use crate::folder::ModelTask;
pub use bulkhead_heads::{ScoreFunction, SequenceClassifier, Term};
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
    /// Folder for packed weights and tokenizers, which make the next start take milliseconds.
    pub cache: Option<PathBuf>,
    /// Most tokens of a text; the model's own limit stays the upper bound.
    pub max_input_length: Option<usize>,
    /// How encoders pool the vectors of tokens; `None` leaves it to the model.
    pub pooling: Option<Pooling>,
}

/// The description of a model.
#[derive(Clone, Debug)]
pub struct Description {
    /// Length of its vectors, or the number of a classifier's labels.
    pub dims: usize,
    /// Most tokens of a text, special tokens included.
    pub max_input_length: usize,
    /// `mean`, `cls` or `last_token`; `splade` of a model that weighs terms.
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
    /// What is made of a text.
    pub output: ModelOutput,
    /// Refuse a request whose texts have more terms together.
    pub most_terms: Option<usize>,
}

/// A loaded model, shared by all who embed with it.
pub struct Model {
    description: Description,
    network: Network,
    head: ModelHead,
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
        let head = ModelHead::open(folder, &encoder)?;
        let most = folder.max_length.unwrap_or(usize::MAX).min(encoder.max_tokens());
        let pooling = match folder.task {
            ModelTask::Embed => options.pooling.unwrap_or(folder.pooling),
            ModelTask::Classify | ModelTask::Terms => folder.pooling,
        };
        let description = Description {
            dims: head.outputs(encoder.dims()),
            max_input_length: options.max_input_length.unwrap_or(MAX_INPUT_LENGTH).min(most),
            pooling: if folder.task == ModelTask::Terms { "splade" } else { pooling.name() },
            dtype: encoder.dtype().name().to_owned(),
            normalize: folder.normalize.unwrap_or(true),
            prompts: folder.prompts.by_name.clone(),
            source: folder.weights_source(),
            weights_sha256: hex::encode(encoder.weights_sha256()),
            late_interaction: late_interaction.as_ref().map(|found| found.sha256().to_owned()),
        };
        Ok(Self {
            description,
            head,
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
            head: ModelHead::Plain,
            late_interaction: None,
            speed: MeasuredSpeed::default(),
            network: Network::Static(Box::new(model)),
        })
    }

    /// Returns the model's description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the length of its vectors, or the number of a classifier's labels.
    pub fn dims(&self) -> usize {
        self.description.dims
    }

    /// Returns the length of raw vectors: those that [`Self::embed`] writes and [`Self::finish`] takes.
    pub fn width(&self) -> usize {
        match &self.network {
            Network::Encoder(encoder, ..) => encoder.dims(),
            _ => self.description.dims,
        }
    }

    /// Returns whether texts gain by being embedded together.
    pub fn batches(&self) -> bool {
        !matches!(self.network, Network::Static(_))
    }

    /// Embeds texts whose ids lie one after the other in `ids`, text `i` from `offsets[i]` to `offsets[i + 1]`.
    /// Writes `[n, width]` f32 vectors into `out`; [`Model::finish`] makes them what a caller wants.
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
}
