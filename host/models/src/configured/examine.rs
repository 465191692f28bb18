//! Checks configured models without serving them.

use std::path::Path;

use bulkhead_inference::{
    error::LoadError,
    model::{LoadOptions, Model},
    progress::Silent,
};
use bulkhead_sources::Inspection;

use crate::{
    config::EmbeddingSettings,
    configured::{
        model_ref::{ModelRef, load_options},
        names::{self, ConfiguredModel, NameError},
    },
};

/// A configured model as it is on this machine.
#[derive(Clone, Debug)]
pub struct ExaminedModel {
    /// Canonical id.
    pub id: String,
    /// Whether it can be served.
    pub state: ModelState,
}

/// Whether a model can be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelState {
    /// It can be loaded, and its files are as recorded, if that was recorded.
    Whole {
        /// SHA-256 of its weights, hexadecimal.
        weights_sha256: String,
    },
    /// It is not there.
    Missing {
        /// How an operator can get it.
        remedy: String,
    },
    /// It can be loaded, but a file is not as recorded.
    Changed {
        /// Which file, and how it differs.
        difference: String,
    },
    /// It cannot be loaded.
    Unusable {
        /// Why not.
        fault: String,
    },
}

/// Checks each configured model in turn: finds its folder, compares its files with what was recorded, and loads it. Nothing
/// is written, and each model is freed before the next.
pub fn examine(settings: &EmbeddingSettings, models_dir: &Path) -> impl Iterator<Item = ExaminedModel> {
    let options = LoadOptions { cache: None, ..load_options(settings, models_dir) };
    settings.models.iter().map(move |value| {
        let ModelRef { id, folder, .. } = ModelRef::resolve(value, models_dir);
        let state = match folder {
            Err(remedy) => ModelState::Missing { remedy },
            Ok(folder) => state(&folder, &options).unwrap_or_else(unusable),
        };
        ExaminedModel { id, state }
    })
}

/// Returns why a start would refuse the names of the models, if it would.
pub fn name_fault(settings: &EmbeddingSettings, models_dir: &Path) -> Option<NameError> {
    let models: Vec<ModelRef> =
        settings.models.iter().map(|value| ModelRef::resolve(value, models_dir)).collect();
    let (present, missing): (Vec<&ModelRef>, Vec<&ModelRef>) =
        models.iter().partition(|model| model.folder.is_ok());
    let (present, missing) = (configured(&present), configured(&missing));
    let names = names::model_names(&present, &missing, &settings.aliases).err();
    let default = settings.default_model.as_deref();
    names.or_else(|| names::default_id(default, &settings.models, &present, &missing).err())
}

/// Returns models as their names are checked.
fn configured<'m>(models: &[&'m ModelRef]) -> Vec<ConfiguredModel<'m>> {
    models.iter().map(|model| ConfiguredModel { value: &model.value, id: &model.id }).collect()
}

fn unusable(fault: LoadError) -> ModelState {
    ModelState::Unusable { fault: fault.to_string() }
}

fn state(folder: &Path, options: &LoadOptions) -> Result<ModelState, LoadError> {
    let Inspection { damage, weights_sha256, .. } = bulkhead_sources::inspect(folder, &mut Silent)?;
    Model::load(folder, options)?;
    Ok(match damage {
        Some(difference) => ModelState::Changed { difference },
        None => ModelState::Whole { weights_sha256 },
    })
}
