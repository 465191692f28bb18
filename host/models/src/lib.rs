//! The models that are loaded and the threads that embed with them: one registry and one queue for HTTP and for
//! guests alike.

mod additions;
mod call;
pub mod config;
pub mod embeddings;
mod gate;
mod graphs;
pub mod metrics;
mod model;
mod names;
pub mod nn;
mod wanted;

use std::{path::Path, sync::Arc, time::Instant};

use bulkhead_inference::{
    engine::{Embedded, Engine, EngineOptions, Input, Request, Stats},
    error::LoadError,
    head::Head,
    model::{EmbedOptions, Model, TextError},
};

pub use self::{
    additions::{AdditionError, Additions},
    gate::{Denied, Gate, Graph},
    graphs::{GraphError, NamedHead, NamedOnnx},
    model::{Choice, Refusal, ServedModel},
    names::NameError,
    wanted::{load_options, models_dir, packed_dir},
};
use self::{
    config::Embedding,
    metrics::{InferenceMetrics, Spent},
    wanted::Wanted,
};

/// Why there is no inference.
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
    /// A limit that no text fits in.
    #[error("a limit of {limit} tokens leaves model `{id}` no room for text; raise --max-input-length")]
    NoRoom {
        /// The model.
        id: String,
        /// The most tokens of a text.
        limit: usize,
    },
    /// Names that clash or name nothing.
    #[error(transparent)]
    Names(#[from] NameError),
    /// A head or an ONNX graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The operating system gives no threads.
    #[error("cannot start the inference threads: {0}; lower embedding.threads")]
    Threads(std::io::Error),
}

/// A model that is configured and cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingModel {
    /// Canonical id.
    pub id: String,
    /// How to get it; for operators.
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
    /// Loads the models, one thread each, and starts the inference threads. A model that is not there is left out
    /// and reported by [`Self::missing`].
    ///
    /// # Errors
    /// When a model that is there is broken, names clash, or there are no threads.
    pub fn start(
        settings: &Embedding,
        models_dir: &Path,
        metrics: Arc<InferenceMetrics>,
    ) -> Result<Self, StartError> {
        let (present, missing) = load(settings, models_dir)?;
        let configured: Vec<names::Configured<'_>> = present
            .iter()
            .map(|(wanted, _)| names::Configured { value: &wanted.value, id: &wanted.id })
            .collect();
        let absent: Vec<names::Configured<'_>> =
            missing.iter().map(|(value, model)| names::Configured { value, id: &model.id }).collect();
        let path_names = names::path_names(&configured, &absent, &settings.aliases)?;
        let default_id =
            names::default_id(settings.default_model.as_deref(), &settings.models, &configured, &absent)?;
        let prompts: Vec<_> = configured
            .iter()
            .zip(&path_names)
            .zip(&present)
            .map(|((configured, path_name), (_, model))| {
                let prompts = model.description().prompts.keys().map(String::as_str).collect();
                (*configured, path_name.as_str(), prompts)
            })
            .collect();
        names::check_prompts(&settings.default_prompts, &prompts, &absent)?;
        let engine = EngineOptions { threads: settings.threads, queue_texts: settings.queue_texts };
        let models: Vec<Arc<ServedModel>> = present
            .into_iter()
            .zip(path_names)
            .map(|((wanted, model), path_name)| {
                let prompts = &settings.default_prompts;
                let prompt = prompts.get(&wanted.id).or(prompts.get(&path_name));
                Arc::new(ServedModel::new(wanted, path_name, model, prompt.map(String::as_str)))
            })
            .collect();
        for model in &models {
            metrics.know_model(&model.id);
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

    /// The served models in configured order, the default first.
    pub fn models(&self) -> impl Iterator<Item = &ServedModel> {
        let default = self.default_model();
        let others = self.models.iter().filter(|model| model.id != self.default_id);
        default.into_iter().chain(others.map(Arc::as_ref))
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
        self.models.iter().find(|model| model.id == self.default_id).map(Arc::as_ref)
    }

    /// The model with this segment in `/tei/{model_id}`.
    pub fn by_path_name(&self, name: &str) -> Option<&ServedModel> {
        self.models.iter().find(|model| model.path_name == name).map(Arc::as_ref)
    }

    /// The model with this canonical id, or this alias.
    pub fn by_id(&self, id: &str) -> Option<&ServedModel> {
        self.named(id).map(Arc::as_ref)
    }

    /// The same, for whoever keeps it.
    pub fn shared(&self, id: &str) -> Option<Arc<ServedModel>> {
        self.named(id).cloned()
    }

    /// The head with this name.
    pub fn head(&self, name: &str) -> Option<&Arc<NamedHead>> {
        self.heads.iter().find(|head| head.name == name)
    }

    /// Serves another head, under a name that nothing else has.
    ///
    /// # Errors
    /// When something else has the name, or the head is another model's.
    pub fn add_head(&mut self, name: &str, head: Head) -> Result<(), GraphError> {
        let head = graphs::checked(name, head, &self.models)?;
        self.heads.push(Arc::new(head));
        Ok(())
    }

    /// The ONNX graph with this name.
    pub fn onnx(&self, name: &str) -> Option<&Arc<NamedOnnx>> {
        self.onnx.iter().find(|graph| graph.name == name)
    }

    fn named(&self, id: &str) -> Option<&Arc<ServedModel>> {
        let by_id = self.models.iter().find(|model| model.id == id);
        by_id.or_else(|| self.models.iter().find(|model| model.path_name == id))
    }

    /// Most texts of a request.
    pub const fn max_batch_size(&self) -> usize {
        self.max_batch_size
    }

    /// Texts that may wait for a thread.
    pub const fn queue_texts(&self) -> usize {
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

    /// Embeds `texts` with `model`; dropping the future withdraws them.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn embed(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        choice: &Choice,
        deadline: Instant,
    ) -> Result<Embedded, Refusal> {
        self.check_texts(&texts)?;
        self.run(model, texts.into_iter().map(Input::Text).collect(), choice, deadline).await
    }

    /// The same for token ids that a caller made itself.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn embed_ids(
        &self,
        model: &ServedModel,
        ids: Vec<Vec<u32>>,
        deadline: Instant,
    ) -> Result<Embedded, Refusal> {
        self.check_count(ids.len())?;
        self.run(model, ids.into_iter().map(Input::Ids).collect(), &Choice::default(), deadline).await
    }

    async fn run(
        &self,
        model: &ServedModel,
        texts: Vec<Input>,
        choice: &Choice,
        deadline: Instant,
    ) -> Result<Embedded, Refusal> {
        let options = model.options(choice)?;
        let request = Request { texts, options, deadline };
        let pending = self.engine.embed(&model.model, request).map_err(Refusal::from)?;
        let answer = tokio::time::timeout_at(deadline.into(), pending).await;
        let embedded = answer.map_err(|_| Refusal::Deadline)?.map_err(Refusal::from)?;
        self.metrics.embedded(&model.id, &Spent::of(&embedded));
        Ok(embedded)
    }

    /// What `work` makes of each of `texts`, which wait for the inference threads with those that are embedded; dropping the
    /// future withdraws those that no thread has taken.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn each<T: Send + 'static>(
        &self,
        texts: Vec<String>,
        deadline: Instant,
        work: impl Fn(&str) -> Result<T, TextError> + Send + Sync + 'static,
    ) -> Result<Vec<T>, Refusal> {
        let pending = self.engine.map_texts(texts, deadline, work).map_err(Refusal::from)?;
        let answer = tokio::time::timeout_at(deadline.into(), pending).await;
        answer.map_err(|_| Refusal::Deadline)?.map_err(Refusal::from)
    }

    /// Whether the texts can be embedded at all.
    ///
    /// # Errors
    /// When there are none, too many, or one is empty.
    pub fn check_texts(&self, texts: &[String]) -> Result<(), Refusal> {
        self.check_count(texts.len())?;
        match texts.iter().position(String::is_empty) {
            Some(index) => Err(Refusal::Invalid(format!("input {index} is an empty string"))),
            None => Ok(()),
        }
    }

    fn check_count(&self, count: usize) -> Result<(), Refusal> {
        let limit = self.max_batch_size;
        if count == 0 {
            return Err(Refusal::Invalid("the list of inputs is empty".to_owned()));
        }
        if count > limit {
            let fault = format!("{count} inputs are more than the maximum batch size of {limit}");
            return Err(Refusal::Invalid(fault));
        }
        Ok(())
    }
}

type Present = Vec<(Wanted, Arc<Model>)>;
/// Each with the value that was configured.
type Missing = Vec<(String, MissingModel)>;

/// Loads every model at once: those that are there, and those that are not.
fn load(settings: &Embedding, models_dir: &Path) -> Result<(Present, Missing), StartError> {
    let wanted: Vec<Wanted> = settings.models.iter().map(|value| Wanted::find(value, models_dir)).collect();
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
            Some(Some(Ok(model))) => {
                leaves_room(&wanted, &model)?;
                present.push((wanted, Arc::new(model)));
            }
            Some(Some(Err(error))) => return Err(StartError::Load { id: wanted.id, error }),
            Some(None) => {
                let remedy = wanted.folder.err().unwrap_or_default();
                missing.push((wanted.value, MissingModel { id: wanted.id, remedy }));
            }
            None => {
                let remedy = "loading it panicked; the log says where".to_owned();
                missing.push((wanted.value, MissingModel { id: wanted.id, remedy }));
            }
        }
    }
    Ok((present, missing))
}

/// Whether one letter fits beside the model's special tokens: with a smaller limit every request would fail, or lose its
/// text.
fn leaves_room(wanted: &Wanted, model: &Model) -> Result<(), StartError> {
    match model.tokenize("a", &EmbedOptions::default()) {
        Ok(tokens) if !tokens.truncated => Ok(()),
        _ => Err(StartError::NoRoom { id: wanted.id.clone(), limit: model.description().max_input_length }),
    }
}
