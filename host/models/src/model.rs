//! One loaded model under its names, and what a caller may choose of it.

use std::sync::Arc;

use bulkhead_inference::{
    engine::Failure,
    model::{EmbedOptions, Model, TruncationSide},
};
use bulkhead_telemetry::quoted;

use super::wanted::Wanted;

/// Fewest characters of a weights digest that name a revision.
const REVISION_CHARS: usize = 8;

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
    /// Vectors of the tokens too, where the model makes them.
    pub token_vectors: bool,
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request asks for what cannot be; the text says what.
    #[error("{0}")]
    Invalid(String),
    /// Too many texts wait.
    #[error("too many texts are waiting; ask again")]
    Overloaded,
    /// The caller has used up its share of this second.
    #[error("the tokens of this second are used up; ask again in {retry_after} s")]
    Quota {
        /// Seconds until it may ask again.
        retry_after: u32,
    },
    /// It took too long.
    #[error("the time for it is over")]
    Deadline,
    /// The host ends.
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
        wanted: Wanted,
        path_name: String,
        model: Arc<Model>,
        prompt_name: Option<&str>,
    ) -> Self {
        let prompt = prompt_name.and_then(|name| model.description().prompts.get(name));
        let default_prompt = prompt.map(|text| Arc::from(text.as_str()));
        Self { id: wanted.id, path_name, model, default_prompt }
    }

    /// Whether `revision` names the loaded weights: the first characters, at least eight, of their SHA-256.
    pub fn is_revision(&self, revision: &str) -> bool {
        revision.len() >= REVISION_CHARS && self.model.description().weights_sha256.starts_with(revision)
    }

    /// The text of a prompt; without a name the configured default's.
    ///
    /// # Errors
    /// When the model has no prompt of this name.
    pub fn prompt(&self, name: Option<&str>) -> Result<Option<Arc<str>>, Refusal> {
        let Some(name) = name else { return Ok(self.default_prompt.clone()) };
        let prompts = &self.model.description().prompts;
        match prompts.get(name) {
            Some(text) => Ok(Some(Arc::from(text.as_str()))),
            None => {
                let known: Vec<&str> = prompts.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(Refusal::Invalid(format!(
                    "prompt_name `{}` is not one of this model's prompts: {known}",
                    quoted(name)
                )))
            }
        }
    }

    pub(super) fn options(&self, choice: &Choice) -> Result<EmbedOptions, Refusal> {
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
            token_vectors: choice.token_vectors,
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
