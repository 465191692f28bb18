//! `bulkhead:host/embeddings`: the loaded models, on the host's inference threads.

use std::sync::Arc;

use bulkhead_inference::model::TruncationSide;
use bulkhead_runtime::capabilities::{
    Access::Read,
    Capability, Interface, SlotResources,
    bindings::bulkhead::host::embeddings::{self, Description, Error, Options, Truncation},
};

use crate::call::{Call, CallData};
use crate::{Choice, Denied, Gate, Refusal, ServedModel};

/// Seconds after which an overload is worth another try.
const RETRY_AFTER: u32 = 1;

/// `bulkhead:host/embeddings`, over the slot's [`Gate`].
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingsCapability;

impl Capability for EmbeddingsCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[EMBEDDINGS]
    }
}

/// Embedding and describing.
const EMBEDDINGS: Interface = Interface {
    name: "bulkhead:host/embeddings",
    version: "0.1.0",
    is_general: false,
    functions: &[("embed", Read), ("describe", Read)],
    add_to_linker: |instance| {
        embeddings::add_to_linker_instance::<_, CallData>(instance, |guest| Call(&mut guest.capabilities))
    },
};

impl From<Denied> for Error {
    fn from(denied: Denied) -> Self {
        Self::UnknownModel(denied.to_string())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(reason) => Self::Invalid(reason),
            Refusal::Overloaded => Self::Busy(RETRY_AFTER),
            Refusal::Quota { retry_after } => Self::Busy(retry_after),
            refusal @ (Refusal::Deadline | Refusal::Stopped | Refusal::Internal) => {
                Self::Failed(refusal.to_string())
            }
        }
    }
}

impl From<Options> for Choice {
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
            token_vectors: false,
        }
    }
}

fn gate(resources: &SlotResources) -> Result<&Gate, Error> {
    resources.get().ok_or_else(|| Error::UnknownModel("this slot's service uses no models".to_owned()))
}

async fn vectors(
    resources: &SlotResources,
    model: &str,
    texts: Vec<String>,
    options: Options,
) -> Result<Vec<Vec<f32>>, Error> {
    let gate = gate(resources)?;
    let model = gate.model(model)?;
    let embedded = gate.embed(&model, texts, &options.into()).await?;
    Ok(embedded.vectors.chunks_exact(embedded.dims.max(1)).map(<[f32]>::to_vec).collect())
}

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

impl embeddings::Host for Call<'_> {
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
        let model = gate(&self.0.resources).and_then(|gate| Ok(gate.model(&model)?));
        Ok(model.map(|model| description(&model)))
    }
}
