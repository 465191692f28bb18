//! A loaded model under its names, and the parameters of a call.

use std::{sync::Arc, time::Duration};

use bulkhead_inference::{
    engine::Failure,
    model::{EmbedOptions, Model, ModelOutput, ModelTask, TruncationSide},
};
use bulkhead_telemetry::quoted;

use crate::configured::{model_ref::ModelRef, names::ModelNames};

/// Fewest characters of a weights digest that name a revision.
const REVISION_CHARS: usize = 8;
/// The longest time after which a caller is asked to try again, seconds.
const LONGEST_RETRY: u64 = 3600;

/// A model that is served.
pub struct ServedModel {
    /// Canonical id.
    pub id: String,
    /// Its other names.
    names: ModelNames,
    /// The loaded weights and tokenizer.
    pub model: Arc<Model>,
    /// The prompt for callers that name none.
    default_prompt: Option<Arc<str>>,
}

/// The parameters of an embedding call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbedParameters {
    /// Name of one of the model's prompts.
    pub prompt_name: Option<String>,
    /// `Some(false)` rejects texts that are too long; anything else truncates them.
    pub truncate: Option<bool>,
    /// The side that is truncated.
    pub side: TruncationSide,
    /// Whether vectors are scaled to length 1; absent: the model's default.
    pub normalize: Option<bool>,
    /// Number of leading dimensions to keep.
    pub dimensions: Option<u64>,
    /// Whether token vectors are returned too, where the model has them.
    pub token_vectors: bool,
    /// What is made of a text.
    pub output: ModelOutput,
    /// Most terms of all texts together.
    pub most_terms: Option<usize>,
    /// Inputs that do not count towards the most of a request: the source that sentences are compared with.
    pub uncounted: usize,
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferenceError {
    /// The request is invalid; the text says why.
    #[error("{0}")]
    Invalid(String),
    /// Too many texts wait.
    #[error("too many texts are waiting; ask again in {retry_after} s")]
    Overloaded {
        /// Seconds until the caller may retry, by the measured speed.
        retry_after: u32,
    },
    /// An idle host could not embed so much in its time.
    #[error(
        "this host embeds about {tokens} tokens in the {seconds} s of embedding.work_seconds; send at most {texts} such texts"
    )]
    TooLarge {
        /// Texts like these that fit.
        texts: usize,
        /// Tokens that fit.
        tokens: usize,
        /// The time.
        seconds: u64,
    },
    /// An answer would have too many terms.
    #[error(
        "the texts have more than {most} terms, the most that embedding.terms_per_text and embedding.token_output_bytes \
         let their answer have; send fewer or shorter texts"
    )]
    TooManyTerms {
        /// The most terms of an answer to so many texts.
        most: usize,
    },
    /// The slot has used its tokens of this second.
    #[error("the tokens of this second are used up; ask again in {retry_after} s")]
    Quota {
        /// Seconds until the caller may retry.
        retry_after: u32,
    },
    /// The deadline has passed.
    #[error("the deadline has passed")]
    Deadline {
        /// Seconds until the caller may retry, by the measured speed.
        retry_after: u32,
    },
    /// The host is stopping.
    #[error("the host is stopping")]
    Stopped,
    /// Inference failed; the reason is in the log.
    #[error("inference failed; the host's log has the reason")]
    Internal,
}

impl std::fmt::Debug for ServedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedModel").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ServedModel {
    pub(super) fn new(
        model_ref: ModelRef,
        names: ModelNames,
        model: Arc<Model>,
        default_prompt: Option<String>,
    ) -> Self {
        let default_prompt = default_prompt.map(Arc::from);
        Self { id: model_ref.id, names, model, default_prompt }
    }

    /// Returns its segment in `/tei/{model_id}`; of several the first.
    pub fn path_name(&self) -> &str {
        self.names.segments.first().map_or(&self.id, String::as_str)
    }

    /// Returns the names besides the id that requests may give as `model`.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.names.all().filter(|name| *name != self.id)
    }

    /// Checks whether this is the model's id or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.names.all().any(|alias| alias == name)
    }

    /// Checks whether the model is served at this segment of `/tei/{model_id}`.
    pub(super) fn is_at(&self, segment: &str) -> bool {
        self.names.segments.iter().any(|name| name == segment)
    }

    /// Checks whether `revision` is a prefix, of at least eight characters, of the SHA-256 of the loaded weights.
    pub(crate) fn is_revision(&self, revision: &str) -> bool {
        revision.len() >= REVISION_CHARS && self.model.description().weights_sha256.starts_with(revision)
    }

    /// Returns the text of a prompt, without a name that of the configured default. The empty name means no prompt.
    ///
    /// # Errors
    /// When the model has no prompt of this name.
    pub fn prompt(&self, name: Option<&str>) -> Result<Option<Arc<str>>, InferenceError> {
        let Some(name) = name else { return Ok(self.default_prompt.clone()) };
        if name.is_empty() {
            return Ok(None);
        }
        let prompts = &self.model.description().prompts;
        match prompts.get(name) {
            Some(text) => Ok(Some(Arc::from(text.as_str()))),
            None => {
                let known: Vec<&str> = prompts.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(InferenceError::Invalid(format!(
                    "prompt_name `{}` is not one of this model's prompts: {known}",
                    quoted(name)
                )))
            }
        }
    }

    /// Checks the parameters and returns the options of the engine.
    pub(super) fn options(&self, parameters: &EmbedParameters) -> Result<EmbedOptions, InferenceError> {
        self.check_output(parameters.output)?;
        let dims = self.model.dims();
        let dimensions = match parameters.dimensions {
            None => None,
            Some(requested) => {
                match usize::try_from(requested).ok().filter(|count| (1..=dims).contains(count)) {
                    Some(count) => Some(count),
                    None => {
                        let text = format!("dimensions must be from 1 to {dims}, not {requested}");
                        return Err(InferenceError::Invalid(text));
                    }
                }
            }
        };
        let prompt = match parameters.output {
            // Classifiers know no prompts, and pairs have none.
            ModelOutput::Scores => None,
            ModelOutput::Vector | ModelOutput::AllTokens | ModelOutput::Terms => {
                self.prompt(parameters.prompt_name.as_deref())?
            }
        };
        Ok(EmbedOptions {
            prompt,
            refuse_long: parameters.truncate == Some(false),
            side: parameters.side,
            normalize: parameters.normalize,
            dimensions,
            token_vectors: parameters.token_vectors,
            output: parameters.output,
            most_terms: parameters.most_terms,
        })
    }

    /// Checks that the model makes such a thing of a text.
    pub(crate) fn check_output(&self, output: ModelOutput) -> Result<(), InferenceError> {
        let task = self.model.task();
        let made = match output {
            ModelOutput::Vector => task == ModelTask::Embed,
            ModelOutput::AllTokens => task == ModelTask::Embed && self.model.batches(),
            ModelOutput::Scores => task == ModelTask::Classify,
            ModelOutput::Terms => task == ModelTask::Terms,
        };
        if made {
            return Ok(());
        }
        let makes = match task {
            ModelTask::Embed if self.model.batches() => "embeds texts: /embed, /embed_all",
            ModelTask::Embed => "embeds texts by a table: /embed",
            ModelTask::Classify => "scores texts and pairs of texts: /rerank, /predict",
            ModelTask::Terms => "weighs the terms of texts: /embed_sparse",
        };
        Err(InferenceError::Invalid(format!("model `{}` {makes}; it gives nothing else", self.id)))
    }
}

impl From<Failure> for InferenceError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Overloaded { backlog, .. } => Self::Overloaded { retry_after: retry_after(backlog) },
            Failure::Deadline => Self::Deadline { retry_after: retry_after(Duration::ZERO) },
            Failure::Stopped => Self::Stopped,
            Failure::Text { index, error } => Self::Invalid(format!("input {index}: {error}")),
            Failure::Terms { most } => Self::TooManyTerms { most },
            Failure::Internal(reason) => {
                tracing::error!(reason, "inference failed");
                Self::Internal
            }
        }
    }
}

/// Returns the whole seconds after which a caller may ask again: the time that the queue needs, at least one.
pub(super) fn retry_after(backlog: Duration) -> u32 {
    let seconds = backlog.as_secs().saturating_add(1).min(LONGEST_RETRY);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_follows_the_backlog() {
        for (millis, seconds) in [(0, 1), (999, 1), (1000, 2), (59_500, 60), (u64::MAX, 3600)] {
            assert_eq!(retry_after(Duration::from_millis(millis)), seconds, "{millis}");
        }
    }
}
