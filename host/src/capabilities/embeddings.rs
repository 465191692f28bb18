//! `bulkhead:host/embeddings`: the loaded models, on the host's inference threads.

use std::sync::Arc;

use bulkhead_inference::model::TruncationSide;
use wasmtime::component::HasSelf;

use super::{
    Access::Read,
    Capabilities, Interface,
    bindings::bulkhead::host::embeddings::{self, Description, Error, Options, Truncation},
};
use crate::inference::{Choice, Denied, Gate, Refusal, ServedModel};

/// Seconds after which an overload is worth another try.
const RETRY_AFTER: u32 = 1;

/// Embedding and describing.
pub const EMBEDDINGS: Interface = Interface {
    name: "bulkhead:host/embeddings",
    version: "0.1.0",
    is_general: false,
    functions: &[("embed", Read), ("describe", Read)],
    add_to_linker: |linker| {
        embeddings::add_to_linker::<_, HasSelf<Capabilities>>(linker, |guest| &mut guest.capabilities)
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

async fn vectors(
    gate: &Gate,
    model: &str,
    texts: Vec<String>,
    options: Options,
) -> Result<Vec<Vec<f32>>, Error> {
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

impl embeddings::Host for Capabilities {
    async fn embed(
        &mut self,
        model: String,
        texts: Vec<String>,
        options: Options,
    ) -> wasmtime::Result<Result<Vec<Vec<f32>>, Error>> {
        let backing = Arc::clone(&self.backing);
        Ok(vectors(&backing.models, &model, texts, options).await)
    }

    async fn describe(&mut self, model: String) -> wasmtime::Result<Result<Description, Error>> {
        let model = self.backing.models.model(&model);
        Ok(model.map(|model| description(&model)).map_err(Error::from))
    }
}
