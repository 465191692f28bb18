//! Which loaded model belongs to a knowledge base.

use std::sync::Arc;

use bulkhead_inference::model::Description;
use bulkhead_knowledge::Provenance;
use bulkhead_models::{Inference, ServedModel};

/// The prompt that questions are embedded with, where the model has it.
pub const QUERY_PROMPT: &str = "query";
/// The prompt that passages are embedded with, where the model has it.
pub(super) const PASSAGE_PROMPT: &str = "passage";

/// Why a base cannot be searched with what is loaded.
#[derive(Debug, thiserror::Error)]
pub enum Misfit {
    /// Its model is not loaded, and could be.
    #[error("the model `{id}` of the knowledge base is not loaded: {remedy}")]
    Absent {
        /// The model.
        id: String,
        /// How to get it.
        remedy: String,
    },
    /// Another model is in its place.
    #[error(
        "the knowledge base was embedded with {recorded}, but the host has {loaded}: {remedy}, or embed everything again with \
         `bulkhead kb import --reembed SOURCE`"
    )]
    Other {
        /// What the base holds.
        recorded: Box<Provenance>,
        /// What is loaded.
        loaded: String,
        /// What in the configuration would mend it.
        remedy: &'static str,
    },
}

/// How the model `id` embeds passages.
pub fn provenance(id: &str, about: &Description) -> Provenance {
    Provenance {
        model: id.to_owned(),
        weights_sha256: about.weights_sha256.clone(),
        dtype: about.dtype.clone(),
        prompt: about.prompts.get(PASSAGE_PROMPT).cloned(),
        dims: about.dims,
        late_interaction: about.late_interaction.clone(),
    }
}

/// The loaded model that made the vectors of a base.
///
/// # Errors
/// When it is not loaded, or what is loaded makes other vectors.
pub fn fitting_model(
    inference: Option<&Inference>,
    recorded: &Provenance,
) -> Result<Arc<ServedModel>, Misfit> {
    let absent = |remedy: &str| Misfit::Absent { id: recorded.model.clone(), remedy: remedy.to_owned() };
    let other =
        |loaded: String, remedy| Misfit::Other { recorded: Box::new(recorded.clone()), loaded, remedy };
    let name_model = "name that model in embedding.models";
    let inference = inference.ok_or_else(|| absent("no model is; turn services.embedding on"))?;
    let Some(model) = inference.shared(&recorded.model) else {
        let missing = inference.missing().iter().find(|missing| missing.id == recorded.model);
        return Err(match missing {
            Some(missing) => absent(&missing.remedy),
            None => other(format!("`{}`", inference.default_id()), name_model),
        });
    };
    let loaded = provenance(&model.id, model.model.description());
    if loaded == *recorded {
        return Ok(model);
    }
    if (Provenance { dtype: loaded.dtype.clone(), ..recorded.clone() }) == loaded {
        return Err(other(loaded.to_string(), "set embedding.dtype to that of the base"));
    }
    // The same but for one file, as a copy of an older version's folder is.
    let lacks_words = Provenance { late_interaction: None, ..recorded.clone() } == loaded;
    let remedy = "its folder lacks `late_interaction.safetensors`; get it whole with `bulkhead model pull`";
    Err(if lacks_words { absent(remedy) } else { other(loaded.to_string(), name_model) })
}
