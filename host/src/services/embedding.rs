//! The embedding service: which models it serves under which names, and one way to embed for HTTP and for guests.

mod names;
mod wanted;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::{
    engine::{Embedded, Engine, EngineOptions, Failure, Request, Stats},
    error::LoadError,
    model::{EmbedOptions, Model, TextError, TruncationSide},
    tokenizer::Token,
};

use self::wanted::Wanted;
pub use self::{
    names::NameError,
    wanted::{load_options, models_dir, packed_dir},
};
use crate::{
    config::embedding::Embedding as Settings,
    telemetry::{Metrics, metrics::Spent},
};

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A model's files are not what they should be.
    #[error("model `{id}` cannot be loaded: {error}; mend or remove it, or leave it out of --model")]
    Load {
        /// The model.
        id: String,
        /// What is wrong with it.
        error: LoadError,
    },
    /// Names that clash or name nothing.
    #[error(transparent)]
    Names(#[from] NameError),
    /// The operating system gives no threads.
    #[error("cannot start the inference threads: {0}; lower embedding.threads")]
    Threads(std::io::Error),
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request asks for what cannot be; the text says what.
    Invalid(String),
    /// Too many texts wait.
    Overloaded,
    /// It took too long.
    Deadline,
    /// The host ends.
    Stopped,
    /// Inference failed; the reason is in the log.
    Internal,
}

/// A model that is served.
pub struct ServedModel {
    /// Canonical id.
    pub id: String,
    /// Its segment in `/tei/{model_id}`.
    pub path_name: String,
    /// What embeds.
    pub model: Arc<Model>,
    /// Put before texts when a caller names no prompt.
    default_prompt: Option<Arc<str>>,
}

/// A model that is configured and cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingModel {
    /// Canonical id.
    pub id: String,
    /// How to get it; for operators.
    pub remedy: String,
}

/// What a caller may choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Name of one of the model's prompts.
    pub prompt_name: Option<String>,
    /// `Some(false)` refuses texts that are too long, anything else cuts them.
    pub truncate: Option<bool>,
    /// Where they are cut.
    pub side: TruncationSide,
    /// Scale vectors to length 1; absent: as the model says.
    pub normalize: Option<bool>,
    /// Keep only the first numbers of each vector.
    pub dimensions: Option<u64>,
}

/// The embedding service.
pub struct EmbeddingService {
    models: Vec<ServedModel>,
    missing: Vec<MissingModel>,
    default_id: String,
    engine: Engine,
    max_batch_size: usize,
    queue_texts: usize,
    timeout: Duration,
    metrics: Arc<Metrics>,
}

impl std::fmt::Debug for EmbeddingService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddingService").field("default", &self.default_id).finish_non_exhaustive()
    }
}

impl EmbeddingService {
    /// Loads the models, one thread each, and starts the inference threads. A model that is not there is left out
    /// and reported by [`Self::missing`].
    ///
    /// # Errors
    /// When a model that is there is broken, names clash, or there are no threads.
    pub fn start(settings: &Settings, models_dir: &Path, metrics: Arc<Metrics>) -> Result<Self, StartError> {
        let wanted: Vec<Wanted> =
            settings.models.iter().map(|value| Wanted::find(value, models_dir)).collect();
        let options = load_options(settings, models_dir);
        let loaded = std::thread::scope(|scope| {
            let load = |wanted: &Wanted| {
                let (folder, options) = (wanted.folder.clone().ok(), options.clone());
                scope.spawn(move || folder.map(|folder| Model::load(&folder, &options)))
            };
            let threads: Vec<_> = wanted.iter().map(load).collect();
            threads.into_iter().map(|thread| thread.join().ok()).collect::<Vec<_>>()
        });
        let (mut present, mut missing) = (Vec::new(), Vec::new());
        for (wanted, loaded) in wanted.into_iter().zip(loaded) {
            match loaded {
                Some(Some(Ok(model))) => present.push((wanted, Arc::new(model))),
                Some(Some(Err(error))) => return Err(StartError::Load { id: wanted.id, error }),
                Some(None) => {
                    let remedy = wanted.folder.err().unwrap_or_default();
                    missing.push(MissingModel { id: wanted.id, remedy });
                }
                None => {
                    let remedy = "loading it panicked; the log says where".to_owned();
                    missing.push(MissingModel { id: wanted.id, remedy });
                }
            }
        }
        let configured: Vec<names::Configured<'_>> = present
            .iter()
            .map(|(wanted, _)| names::Configured { value: &wanted.value, id: &wanted.id })
            .collect();
        let absent: Vec<&str> = missing.iter().map(|model| model.id.as_str()).collect();
        let path_names = names::path_names(&configured, &absent, &settings.aliases)?;
        let default_id =
            names::default_id(settings.default_model.as_deref(), &settings.models, &configured, &absent)?;
        let engine = EngineOptions { threads: settings.threads, queue_texts: settings.queue_texts };
        let models = present
            .into_iter()
            .zip(path_names)
            .map(|((wanted, model), path_name)| {
                let prompt =
                    settings.default_prompts.get(&wanted.id).or(settings.default_prompts.get(&path_name));
                let default_prompt = prompt.and_then(|name| model.description().prompts.get(name));
                let default_prompt = default_prompt.map(|text| Arc::from(text.as_str()));
                ServedModel { id: wanted.id, path_name, model, default_prompt }
            })
            .collect();
        Ok(Self {
            models,
            missing,
            default_id,
            engine: Engine::start(engine).map_err(StartError::Threads)?,
            max_batch_size: settings.max_batch_size,
            queue_texts: settings.queue_texts,
            timeout: settings.request_timeout,
            metrics,
        })
    }

    /// The served models in configured order, the default first.
    pub fn models(&self) -> impl Iterator<Item = &ServedModel> {
        let default = self.default_model();
        let others = self.models.iter().filter(|model| model.id != self.default_id);
        default.into_iter().chain(others)
    }

    /// Models that are configured and cannot be had.
    pub fn missing(&self) -> &[MissingModel] {
        &self.missing
    }

    /// Canonical id of the default model, loaded or not.
    pub fn default_id(&self) -> &str {
        &self.default_id
    }

    /// The default model, if it is loaded. No other steps in: vectors of different models do not compare.
    pub fn default_model(&self) -> Option<&ServedModel> {
        self.models.iter().find(|model| model.id == self.default_id)
    }

    /// The model with this segment in `/tei/{model_id}`.
    pub fn by_path_name(&self, name: &str) -> Option<&ServedModel> {
        self.models.iter().find(|model| model.path_name == name)
    }

    /// The model with this canonical id, or this alias.
    pub fn by_id(&self, id: &str) -> Option<&ServedModel> {
        self.models.iter().find(|model| model.id == id).or_else(|| self.by_path_name(id))
    }

    /// Most texts of a request.
    pub fn max_batch_size(&self) -> usize {
        self.max_batch_size
    }

    /// Texts that may wait for a thread.
    pub fn queue_texts(&self) -> usize {
        self.queue_texts
    }

    /// How many threads embed.
    pub fn threads(&self) -> usize {
        self.engine.threads()
    }

    /// What the engine has done and has to do.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Embeds `texts` with `model`.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn embed(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        choice: &Choice,
    ) -> Result<Embedded, Refusal> {
        self.check_texts(&texts)?;
        let (count, options) = (texts.len(), model.options(choice)?);
        let deadline = Instant::now() + self.timeout;
        let request = Request { texts, options, deadline };
        let pending = self.engine.embed(&model.model, request).map_err(Refusal::from)?;
        let answer = tokio::time::timeout_at(deadline.into(), pending).await;
        let embedded = answer.map_err(|_| Refusal::Deadline)?.map_err(Refusal::from)?;
        let spent = Spent {
            texts: count,
            tokens: embedded.tokens,
            truncated: embedded.truncated,
            queued: embedded.queued,
            tokenizing: embedded.tokenizing,
            inference: embedded.inference,
        };
        self.metrics.embedding.embedded(&model.id, &spent);
        Ok(embedded)
    }

    /// The tokens of texts.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn tokenize(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        special_tokens: bool,
        prompt_name: Option<String>,
    ) -> Result<Vec<(String, Vec<Token>)>, Refusal> {
        self.check_texts(&texts)?;
        let prompt = model.prompt(prompt_name.as_deref())?;
        let model = Arc::clone(&model.model);
        let tokenize = move || {
            let prompted = texts.into_iter().map(|text| match &prompt {
                Some(prompt) => format!("{prompt}{text}"),
                None => text,
            });
            let tokens = prompted.map(|text| Ok((model.tokens(&text, special_tokens)?, text)));
            let tokens: Result<Vec<_>, TextError> = tokens.collect();
            tokens.map(|all| all.into_iter().map(|(tokens, text)| (text, tokens)).collect())
        };
        let tokens = tokio::time::timeout(self.timeout, tokio::task::spawn_blocking(tokenize)).await;
        let tokens = tokens.map_err(|_| Refusal::Deadline)?.map_err(|_| Refusal::Internal)?;
        tokens.map_err(|error| Refusal::Invalid(error.to_string()))
    }

    /// Whether the texts can be embedded at all.
    ///
    /// # Errors
    /// When there are none, too many, or one is empty.
    pub fn check_texts(&self, texts: &[String]) -> Result<(), Refusal> {
        if texts.is_empty() {
            return Err(Refusal::Invalid("the list of inputs is empty".to_owned()));
        }
        if texts.len() > self.max_batch_size {
            let (count, limit) = (texts.len(), self.max_batch_size);
            return Err(Refusal::Invalid(format!(
                "{count} inputs are more than the maximum batch size of {limit}"
            )));
        }
        match texts.iter().position(String::is_empty) {
            Some(index) => Err(Refusal::Invalid(format!("input {index} is an empty string"))),
            None => Ok(()),
        }
    }
}

impl ServedModel {
    /// The text of a prompt; without a name the configured default's.
    fn prompt(&self, name: Option<&str>) -> Result<Option<Arc<str>>, Refusal> {
        let Some(name) = name else { return Ok(self.default_prompt.clone()) };
        let prompts = &self.model.description().prompts;
        match prompts.get(name) {
            Some(text) => Ok(Some(Arc::from(text.as_str()))),
            None => {
                let known: Vec<&str> = prompts.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(Refusal::Invalid(format!(
                    "prompt_name `{name}` is not one of this model's prompts: {known}"
                )))
            }
        }
    }

    fn options(&self, choice: &Choice) -> Result<EmbedOptions, Refusal> {
        let dims = self.model.dims();
        let dimensions = match choice.dimensions {
            None => None,
            Some(wanted) => match usize::try_from(wanted).ok().filter(|wanted| (1..=dims).contains(wanted)) {
                Some(wanted) => Some(wanted),
                None => {
                    let text = format!("dimensions must be from 1 to {dims}, not {wanted}");
                    return Err(Refusal::Invalid(text));
                }
            },
        };
        Ok(EmbedOptions {
            prompt: self.prompt(choice.prompt_name.as_deref())?,
            refuse_long: choice.truncate == Some(false),
            side: choice.side,
            normalize: choice.normalize,
            dimensions,
        })
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Overloaded { .. } => Self::Overloaded,
            Failure::Deadline => Self::Deadline,
            Failure::Stopped => Self::Stopped,
            Failure::Text { index, error } => Self::Invalid(format!("input {index}: {error}")),
            Failure::Internal(reason) => {
                tracing::error!(reason, "inference failed");
                Self::Internal
            }
        }
    }
}
