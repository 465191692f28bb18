//! `bulkhead:host/embeddings`: the loaded models, on the host's inference threads.

use std::sync::Arc;

use bulkhead_inference::model::TruncationSide;
use bulkhead_runtime::capabilities::{
    Access::Read,
    Capability, Interface, SlotResources,
    bindings::bulkhead::host::embeddings::{self, Description, Error, Options, Truncation},
};

use super::call::{ModelCall, ModelCallData};
use crate::{EmbedParameters, InferenceError, ModelAccessError, ServedModel, SlotModelAccess};

/// `bulkhead:host/embeddings`, over the slot's [`SlotModelAccess`].
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingsCapability;

impl Capability for EmbeddingsCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[EMBEDDINGS]
    }
}

/// The functions that embed texts and describe models.
const EMBEDDINGS: Interface = Interface {
    name: "bulkhead:host/embeddings",
    version: "0.1.1",
    is_general: false,
    functions: &[("embed", Read), ("describe", Read)],
    add_to_linker: |instance| {
        embeddings::add_to_linker_instance::<_, ModelCallData>(instance, |guest| {
            ModelCall(&mut guest.capabilities)
        })
    },
};

impl From<ModelAccessError> for Error {
    fn from(error: ModelAccessError) -> Self {
        Self::UnknownModel(error.to_string())
    }
}

impl From<InferenceError> for Error {
    fn from(error: InferenceError) -> Self {
        match error {
            InferenceError::Invalid(reason) => Self::Invalid(reason),
            InferenceError::Overloaded { retry_after } | InferenceError::Quota { retry_after } => {
                Self::Busy(retry_after)
            }
            error @ (InferenceError::TooLarge { .. } | InferenceError::TooManyTerms { .. }) => {
                Self::Invalid(error.to_string())
            }
            error
            @ (InferenceError::Deadline { .. } | InferenceError::Stopped | InferenceError::Internal) => {
                Self::Failed(error.to_string())
            }
        }
    }
}

impl From<Options> for EmbedParameters {
    fn from(options: Options) -> Self {
        Self {
            prompt_name: options.prompt_name,
            truncate: Some(!options.refuse_long),
            side: match options.truncation {
                Truncation::Right => TruncationSide::Right,
                Truncation::Left => TruncationSide::Left,
            },
            normalize: options.normalize,
            dimensions: options.dimensions.map(u64::from),
            ..Self::default()
        }
    }
}

/// Returns the slot's access to the models.
fn model_access(resources: &SlotResources) -> Result<&SlotModelAccess, Error> {
    resources.get().ok_or_else(|| Error::UnknownModel("this slot's service uses no models".to_owned()))
}

/// Embeds `texts`, one vector each.
async fn vectors(
    resources: &SlotResources,
    model: &str,
    texts: Vec<String>,
    options: Options,
) -> Result<Vec<Vec<f32>>, Error> {
    let access = model_access(resources)?;
    let model = access.model(model)?;
    let embedded = access.embed(&model, texts, &options.into()).await?;
    Ok(embedded.vectors.chunks_exact(embedded.dims.max(1)).map(<[f32]>::to_vec).collect())
}

/// Describes a model in the terms of the WIT.
fn description(model: &ServedModel) -> Description {
    let about = model.model.description();
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Description {
        id: model.id.clone(),
        weights_sha256: about.weights_sha256.clone(),
        dtype: about.dtype.clone(),
        dims: number(about.dims),
        max_input_tokens: number(about.max_input_length),
        normalize: about.normalize,
        prompt_names: about.prompts.keys().cloned().collect(),
    }
}

impl embeddings::Host for ModelCall<'_> {
    async fn embed(
        &mut self,
        model: String,
        texts: Vec<String>,
        options: Options,
    ) -> wasmtime::Result<Result<Vec<Vec<f32>>, Error>> {
        let resources = Arc::clone(&self.0.resources);
        Ok(vectors(&resources, &model, texts, options).await)
    }

    async fn describe(&mut self, model: String) -> wasmtime::Result<Result<Description, Error>> {
        let model = model_access(&self.0.resources).and_then(|access| Ok(access.model(&model)?));
        Ok(model.map(|model| description(&model)))
    }
}
