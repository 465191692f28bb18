//! The loaded models and the threads that embed with them: one registry and one queue for HTTP and for guests.

mod access;
mod calls;
mod capabilities;
pub mod config;
mod configured;
mod graphs;
mod load_hooks;
pub mod metrics;
mod model;
mod scores;

use std::{path::Path, sync::Arc};

use bulkhead_inference::{
    engine::{BatchObserver, Engine, EngineOptions, Shares, Stats},
    error::LoadError,
    head::{Head, Record},
    model::{EmbedOptions, Model},
};

pub use self::{
    access::{ModelAccessError, NamedGraph, SlotModelAccess, TokenBucket},
    calls::wait::CallTerms,
    capabilities::{embeddings, nn, rerank},
    configured::{
        examine::{ExaminedModel, ModelState, examine, name_fault},
        model_ref::{load_options, models_dir, packed_dir},
        names::NameError,
    },
    graphs::{GraphError, NamedHead, NamedOnnx},
    load_hooks::{LoadHookError, LoadHooks},
    model::{EmbedParameters, InferenceError, ServedModel},
    scores::{RankOptions, RankedText},
};
use self::{
    config::{EmbeddingSettings, EmbeddingShares},
    configured::{
        model_ref::{ModelRef, damage},
        names,
    },
    metrics::InferenceMetrics,
};

/// Why inference cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The files of a model are broken.
    #[error("model `{id}` cannot be loaded: {error}; fix or remove it, or leave it out of --model")]
    Load {
        /// The model.
        id: String,
        /// What is wrong with it.
        error: LoadError,
    },
    /// The token limit leaves no room for text.
    #[error("a limit of {limit} tokens leaves model `{id}` no room for text; raise --max-input-length")]
    NoRoom {
        /// The model.
        id: String,
        /// The most tokens of a text.
        limit: usize,
    },
    /// Names collide or name no model.
    #[error(transparent)]
    Names(#[from] NameError),
    /// A head or an ONNX graph cannot be used.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The operating system cannot start the threads.
    #[error("cannot start the inference threads: {0}; lower embedding.threads")]
    Threads(std::io::Error),
}

/// A model that is configured but not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingModel {
    /// Canonical id.
    pub id: String,
    /// How an operator can get it.
    pub remedy: String,
}

/// The loaded models and their threads.
pub struct Inference {
    models: Vec<Arc<ServedModel>>,
    missing: Vec<MissingModel>,
    heads: Vec<Arc<NamedHead>>,
    onnx: Vec<Arc<NamedOnnx>>,
    default_id: String,
    engine: Engine,
    max_batch_size: usize,
    queue_texts: usize,
    metrics: Arc<InferenceMetrics>,
}

impl std::fmt::Debug for Inference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inference").field("default", &self.default_id).finish_non_exhaustive()
    }
}

impl Inference {
    /// Loads the models, one thread each, and starts the inference threads. Models that are not available are left out
    /// and reported by [`Self::missing`].
    ///
    /// # Errors
    /// When an available model is broken, names collide, or the threads cannot start.
    pub fn start(
        settings: &EmbeddingSettings,
        models_dir: &Path,
        metrics: Arc<InferenceMetrics>,
    ) -> Result<Self, StartError> {
        let (present, missing) = load(settings, models_dir)?;
        let configured: Vec<names::ConfiguredModel<'_>> = present
            .iter()
            .map(|(model_ref, _)| names::ConfiguredModel { value: &model_ref.value, id: &model_ref.id })
            .collect();
        let absent: Vec<names::ConfiguredModel<'_>> =
            missing.iter().map(|(value, model)| names::ConfiguredModel { value, id: &model.id }).collect();
        let names = names::model_names(&configured, &absent, &settings.aliases)?;
        let default_id =
            names::default_id(settings.default_model.as_deref(), &settings.models, &configured, &absent)?;
        let prompts: Vec<_> = configured
            .iter()
            .zip(&names)
            .zip(&present)
            .map(|((configured, names), (_, model))| {
                let prompts = model.description().prompts.keys().map(String::as_str).collect();
                (*configured, names, prompts)
            })
            .collect();
        names::check_prompts(&settings.default_prompts, &prompts, &absent)?;
        let engine = EngineOptions {
            threads: settings.threads,
            queue_texts: settings.queue_texts,
            shares: engine_shares(settings.shares),
        };
        let models: Vec<Arc<ServedModel>> = present
            .into_iter()
            .zip(names)
            .map(|((model_ref, model), names)| {
                let prompts = &settings.default_prompts;
                let by_name = || names.all().find_map(|name| prompts.get(name));
                let by_value = || prompts.get(&model_ref.value);
                let name = prompts.get(&model_ref.id).or_else(by_name).or_else(by_value);
                let named = name.and_then(|name| model.description().prompts.get(name)).cloned();
                let plain = settings.default_prompt.clone().filter(|_| model_ref.id == default_id);
                Arc::new(ServedModel::new(model_ref, names, model, named.or(plain)))
            })
            .collect();
        for model in &models {
            metrics.init_model(&model.id);
        }
        Ok(Self {
            heads: graphs::heads(&settings.heads, &models)?,
            onnx: graphs::onnx(settings, &models)?,
            models,
            missing: missing.into_iter().map(|(_, model)| model).collect(),
            default_id,
            engine: Engine::start(engine).map_err(StartError::Threads)?,
            max_batch_size: settings.max_batch_size,
            queue_texts: settings.queue_texts,
            metrics,
        })
    }

    /// Replaces what kinds of callers get while others wait.
    pub fn set_shares(&self, shares: EmbeddingShares) {
        self.engine.set_shares(engine_shares(shares));
    }

    /// Returns the served models in configured order, the default first.
    pub fn models(&self) -> impl Iterator<Item = &ServedModel> {
        let default = self.default_model();
        let others = self.models.iter().filter(|model| model.id != self.default_id);
        default.into_iter().chain(others.map(Arc::as_ref))
    }

    /// Returns the models that are configured but not available.
    pub fn missing(&self) -> &[MissingModel] {
        &self.missing
    }

    /// Returns the canonical id of the default model, loaded or not.
    pub fn default_id(&self) -> &str {
        &self.default_id
    }

    /// Returns the default model, if it is loaded. Another model cannot replace it: its vectors would not be comparable.
    pub fn default_model(&self) -> Option<&ServedModel> {
        self.models.iter().find(|model| model.id == self.default_id).map(Arc::as_ref)
    }

    /// Returns the model with this segment in `/tei/{model_id}`.
    pub fn by_path_name(&self, name: &str) -> Option<&ServedModel> {
        self.models.iter().find(|model| model.is_at(name)).map(Arc::as_ref)
    }

    /// Returns the model with this canonical id or alias.
    pub fn by_id(&self, id: &str) -> Option<&ServedModel> {
        self.named(id).map(Arc::as_ref)
    }

    /// Returns a shared reference to the model with this canonical id or alias.
    pub fn shared(&self, id: &str) -> Option<Arc<ServedModel>> {
        self.named(id).cloned()
    }

    /// Returns the model with these weights; of several the one with this id.
    pub fn with_weights(&self, weights_sha256: &str, id: &str) -> Option<Arc<ServedModel>> {
        graphs::with_weights(weights_sha256, id, &self.models).cloned()
    }

    /// Returns the model that a head was trained with.
    pub fn of_head(&self, record: &Record) -> Option<&ServedModel> {
        graphs::of_head(record, &self.models).map(Arc::as_ref)
    }

    /// Returns the head with this name.
    pub fn head(&self, name: &str) -> Option<&Arc<NamedHead>> {
        self.heads.iter().find(|head| head.name == name)
    }

    /// Adds a head under a name that is free.
    ///
    /// # Errors
    /// When a model has the name, or the head belongs to another model.
    pub fn add_head(&mut self, name: &str, head: Head) -> Result<(), GraphError> {
        let head = graphs::checked(name, head, &self.models)?;
        self.heads.push(Arc::new(head));
        Ok(())
    }

    /// Returns the ONNX graph with this name.
    pub fn onnx(&self, name: &str) -> Option<&Arc<NamedOnnx>> {
        self.onnx.iter().find(|graph| graph.name == name)
    }

    fn named(&self, id: &str) -> Option<&Arc<ServedModel>> {
        let by_id = self.models.iter().find(|model| model.id == id);
        by_id.or_else(|| self.models.iter().find(|model| model.is_called(id)))
    }

    /// Returns the maximum number of texts of a request.
    pub const fn max_batch_size(&self) -> usize {
        self.max_batch_size
    }

    /// Returns the number of texts that may wait for a thread.
    pub const fn queue_texts(&self) -> usize {
        self.queue_texts
    }

    /// Returns the number of inference threads.
    pub fn threads(&self) -> usize {
        self.engine.threads()
    }

    /// Has `observer` see each batch from now on. The first observer stays.
    pub fn observe_batches(&self, observer: &BatchObserver) {
        self.engine.observe_batches(observer);
    }

    /// Returns the statistics of the engine.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }
}

/// Loaded models, each with its reference.
type PresentModels = Vec<(ModelRef, Arc<Model>)>;
/// Missing models, each with its configured value.
type MissingModels = Vec<(String, MissingModel)>;

/// Loads every model, each in a thread of its own.
fn load(
    settings: &EmbeddingSettings,
    models_dir: &Path,
) -> Result<(PresentModels, MissingModels), StartError> {
    let references = settings.models.iter().map(|value| ModelRef::resolve(value, models_dir));
    let references: Vec<ModelRef> = references.collect();
    let options = load_options(settings, models_dir);
    let loaded = std::thread::scope(|scope| {
        let load = |model_ref: &ModelRef| {
            let (folder, options) = (model_ref.folder.clone().ok(), options.clone());
            scope.spawn(move || folder.map(|folder| Model::load(&folder, &options)))
        };
        let threads: Vec<_> = references.iter().map(load).collect();
        threads.into_iter().map(|thread| thread.join().ok()).collect::<Vec<_>>()
    });
    let (mut present, mut missing) = (Vec::new(), Vec::new());
    for (model_ref, loaded) in references.into_iter().zip(loaded) {
        match loaded {
            Some(Some(Ok(model))) => {
                check_room(&model_ref, &model)?;
                present.push((model_ref, Arc::new(model)));
            }
            Some(Some(Err(error))) => match model_ref.folder.ok().and_then(|folder| damage(&folder)) {
                Some(damage) => {
                    tracing::error!(model = model_ref.id, %error, damage, "the model is damaged and not loaded");
                    let value = model_ref.value;
                    let remedy =
                        format!("it is damaged: {damage}; get it again with `bulkhead model pull {value}`");
                    missing.push((value, MissingModel { id: model_ref.id, remedy }));
                }
                None => return Err(StartError::Load { id: model_ref.id, error }),
            },
            Some(None) => {
                let remedy = model_ref.folder.err().unwrap_or_default();
                missing.push((model_ref.value, MissingModel { id: model_ref.id, remedy }));
            }
            None => {
                let remedy = "loading it panicked; the log says where".to_owned();
                missing.push((model_ref.value, MissingModel { id: model_ref.id, remedy }));
            }
        }
    }
    Ok((present, missing))
}

/// Returns the shares with the engine's defaults.
fn engine_shares(shares: EmbeddingShares) -> Shares {
    Shares { slots: shares.slots, anonymous: shares.anonymous.unwrap_or(Shares::default().anonymous) }
}

/// Checks that one letter fits beside the model's special tokens. With a smaller limit every request would fail or lose its
/// text.
fn check_room(model_ref: &ModelRef, model: &Model) -> Result<(), StartError> {
    match model.tokenize("a", &EmbedOptions::default()) {
        Ok(tokens) if !tokens.truncated => Ok(()),
        _ => {
            Err(StartError::NoRoom { id: model_ref.id.clone(), limit: model.description().max_input_length })
        }
    }
}
