//! The environment variables of text-embeddings-inference, for keys that are not set.

use std::ops::RangeInclusive;

use bulkhead_config::reader::Reader;
use bulkhead_inference::{encoder::Dtype, pooling::Pooling};

use super::{EmbeddingSettings, MOST_BODY_BYTES, MOST_INPUTS, alias, origin};

/// The key that turns this on, which problems name.
const KEY: &str = "tei_env";

/// Variables that nothing here corresponds to, each with what an operator can do instead.
const IGNORED: [(&str, &str); 13] = [
    ("DENSE_PATH", "modules are found in the model's folder"),
    ("DISABLE_SPANS", "see log.level"),
    ("HF_API_TOKEN", "set HF_TOKEN"),
    ("HUGGINGFACE_HUB_CACHE", "set HF_HUB_CACHE"),
    ("JSON_OUTPUT", "see log.format"),
    ("MAX_BATCH_REQUESTS", "batches need no limit"),
    ("MAX_BATCH_TOKENS", "batches need no limit"),
    ("MAX_CONCURRENT_REQUESTS", "see embedding.queue_texts"),
    ("OTLP_ENDPOINT", "metrics are at /metrics"),
    ("OTLP_SERVICE_NAME", "metrics are at /metrics"),
    ("PROMETHEUS_PORT", "metrics are at /metrics"),
    ("TOKENIZATION_WORKERS", "see embedding.threads"),
    ("UDS_PATH", "see server.listen"),
];

/// The variables, and where their problems go.
struct Variables<'v> {
    environment: &'v [(String, String)],
    reader: &'v mut Reader,
}

impl<'v> Variables<'v> {
    /// Returns the value of a variable, if it is not empty and none of `keys` is set.
    fn get(&self, name: &str, keys: &[&str]) -> Option<&'v str> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        let value = found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty());
        value.filter(|_| !keys.iter().any(|key| self.reader.is_set(key)))
    }

    fn problem(&mut self, name: &str, text: &str) {
        self.reader.problem(KEY, format!("the variable {name} {text}"));
    }

    /// Returns a variable as a number within the range of its key.
    fn number(&mut self, name: &str, key: &str, range: RangeInclusive<usize>) -> Option<usize> {
        let text = self.get(name, &[key])?;
        match text.parse::<usize>().ok().filter(|number| range.contains(number)) {
            Some(number) => Some(number),
            None => {
                let (least, most) = (range.start(), range.end());
                self.problem(
                    name,
                    &format!("must be a number from {least} to {most}, not `{text}`; or set embedding.{key}"),
                );
                None
            }
        }
    }

    /// Returns a variable as one of `words`.
    fn choice<T: Copy>(&mut self, name: &str, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.get(name, &[key])?;
        match words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word)) {
            Some((_, value)) => Some(*value),
            None => {
                let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
                self.problem(name, &format!("must be one of {known}, not `{text}`; or set embedding.{key}"));
                None
            }
        }
    }
}

/// Applies the variables to keys that are not set, and names those that are not understood. `HOSTNAME` never counts: shells
/// and containers set it to the machine's name.
pub(super) fn apply(settings: &mut EmbeddingSettings, reader: &mut Reader, environment: &[(String, String)]) {
    let mut variables = Variables { environment, reader };
    if let Some(id) = variables.get("MODEL_ID", &["models"]) {
        let revision = variables.get("REVISION", &[]);
        settings.models = vec![revision.map_or_else(|| id.to_owned(), |revision| format!("{id}@{revision}"))];
    }
    let model = settings.default_model.as_ref().or(settings.models.first()).cloned().unwrap_or_default();
    if let Some(name) = variables.get("SERVED_MODEL_NAME", &["aliases"]) {
        match alias(&format!("{model}={name}")) {
            Ok(alias) => settings.aliases = vec![alias],
            Err(text) => variables.problem("SERVED_MODEL_NAME", &text),
        }
    }
    if let Some(name) = variables.get("DEFAULT_PROMPT_NAME", &["default_prompts", "default_prompt"]) {
        settings.default_prompts.insert(model, name.to_owned());
    } else if let Some(text) = variables.environment.iter().find(|(name, _)| name == "DEFAULT_PROMPT")
        && !variables.reader.is_set("default_prompt")
    {
        // Its space at the end belongs to it.
        settings.default_prompt = Some(text.1.clone()).filter(|text| !text.is_empty());
    }
    if let Some(texts) = variables.number("MAX_CLIENT_BATCH_SIZE", "max_batch_size", 1..=MOST_INPUTS) {
        settings.max_batch_size = texts;
    }
    if let Some(bytes) = variables.number("PAYLOAD_LIMIT", "body_bytes", 1024..=MOST_BODY_BYTES) {
        settings.body_bytes = bytes;
    }
    let truths = [("true", true), ("false", false), ("1", true), ("0", false)];
    if let Some(truncate) = variables.choice("AUTO_TRUNCATE", "auto_truncate", &truths) {
        settings.auto_truncate = truncate;
    }
    let poolings = [("mean", Pooling::Mean), ("cls", Pooling::Cls), ("last-token", Pooling::Last)];
    if let Some(pooling) = variables.choice("POOLING", "pooling", &poolings) {
        settings.pooling = Some(pooling);
    }
    let dtypes = [("float32", Dtype::Float32), ("int8", Dtype::Int8)];
    if let Some(dtype) = variables.choice("DTYPE", "dtype", &dtypes) {
        settings.dtype = dtype;
    }
    if let Some(origins) = variables.get("CORS_ALLOW_ORIGIN", &["cors_origins"]) {
        let origins: Result<Vec<_>, String> = origins.split(',').map(|text| origin(text.trim())).collect();
        match origins {
            Ok(origins) => settings.cors_origins = origins,
            Err(text) => variables.problem("CORS_ALLOW_ORIGIN", &text),
        }
    }
    warn_ignored(&mut variables);
}

/// Names the variables that are set and not understood.
fn warn_ignored(variables: &mut Variables<'_>) {
    for (name, remedy) in IGNORED {
        if variables.get(name, &[]).is_some() {
            variables.reader.warn(KEY, format!("the variable {name} is ignored: {remedy}"));
        }
    }
}
