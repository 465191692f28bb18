//! Matches a knowledge base with the loaded model that made its vectors.

use std::sync::Arc;

use bulkhead_inference::model::Description;
use bulkhead_knowledge::Provenance;
use bulkhead_models::{Inference, ServedModel};
use bulkhead_sources::catalog;

/// The prompt of questions, where the model has it.
pub const QUERY_PROMPT: &str = "query";
/// The prompt of passages, where the model has it.
pub(super) const PASSAGE_PROMPT: &str = "passage";

/// Why a base cannot be searched with the loaded models.
#[derive(Debug, thiserror::Error)]
pub enum ModelMismatch {
    /// Its model is not loaded, but could be.
    #[error("the model `{id}` of the knowledge base is not loaded: {remedy}")]
    NotLoaded {
        /// The model.
        id: String,
        /// How to get it.
        remedy: String,
    },
    /// Another model is loaded in its place.
    #[error(
        "the knowledge base was embedded with {recorded}, but the host has {loaded}: {remedy}, or embed everything again with \
         `bulkhead kb import --reembed`"
    )]
    OtherModel {
        /// The provenance of the base.
        recorded: Box<Provenance>,
        /// The loaded model.
        loaded: String,
        /// The change of the configuration that would fix it.
        remedy: &'static str,
    },
}

/// Returns the provenance of passages that the model `id` embeds.
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

/// Returns the loaded model that made the vectors of a base: the one with its weights, whatever its id is now.
///
/// # Errors
/// When it is not loaded, or the loaded model makes other vectors.
pub fn matching_model(
    inference: Option<&Inference>,
    recorded: &Provenance,
) -> Result<Arc<ServedModel>, ModelMismatch> {
    let not_loaded =
        |remedy: &str| ModelMismatch::NotLoaded { id: recorded.model.clone(), remedy: remedy.to_owned() };
    let other = |loaded: String, remedy| ModelMismatch::OtherModel {
        recorded: Box::new(recorded.clone()),
        loaded,
        remedy,
    };
    let name_model = "name that model in embedding.models";
    let inference = inference.ok_or_else(|| not_loaded("no model is loaded; turn services.embedding on"))?;
    let with_weights = inference.with_weights(&recorded.weights_sha256, &recorded.model);
    let Some(model) = with_weights.or_else(|| inference.shared(&recorded.model)) else {
        // A re-pack was recorded under the id of its original before it got its own.
        let repack = catalog::repack_of(&recorded.model).map(|known| known.id);
        let is_it = |id: &str| id == recorded.model || Some(id) == repack;
        let missing = inference.missing().iter().find(|missing| is_it(&missing.id));
        return Err(match missing {
            Some(missing) => not_loaded(&missing.remedy),
            None => other(format!("`{}`", inference.default_id()), name_model),
        });
    };
    let loaded = provenance(&model.id, model.model.description());
    let equals = |changed: Provenance| changed.makes_same_vectors(&loaded);
    if equals(recorded.clone()) {
        return Ok(model);
    }
    if equals(Provenance { dtype: loaded.dtype.clone(), ..recorded.clone() }) {
        return Err(other(loaded.to_string(), "set embedding.dtype to that of the base"));
    }
    // Equal but for one file, as in the folder of an older version.
    let lacks_late_interaction = equals(Provenance { late_interaction: None, ..recorded.clone() });
    let remedy = "its folder lacks `late_interaction.safetensors`; get it whole with `bulkhead model pull`";
    Err(if lacks_late_interaction { not_loaded(remedy) } else { other(loaded.to_string(), name_model) })
}
