//! `bulkhead:host/rerank`: cross-encoders rank texts, on the host's inference threads.

use std::sync::Arc;

use bulkhead_runtime::capabilities::{
    Access::Read,
    Capability, Interface, SlotResources,
    bindings::bulkhead::host::{
        embeddings,
        rerank::{self, Error, Options, RankedText},
    },
};

use super::call::{ModelCall, ModelCallData};
use crate::{RankOptions, SlotModelAccess};

/// `bulkhead:host/rerank`, over the slot's [`SlotModelAccess`].
#[derive(Clone, Copy, Debug)]
pub struct RerankCapability;

impl Capability for RerankCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[RERANK]
    }
}

/// The function that ranks texts.
const RERANK: Interface = Interface {
    name: "bulkhead:host/rerank",
    version: "0.1.1",
    is_general: false,
    functions: &[("rank", Read)],
    add_to_linker: |instance| {
        rerank::add_to_linker_instance::<_, ModelCallData>(instance, |guest| {
            ModelCall(&mut guest.capabilities)
        })
    },
};

/// Returns the error of `bulkhead:host/embeddings` as one of this interface.
fn converted(error: impl Into<embeddings::Error>) -> Error {
    match error.into() {
        embeddings::Error::UnknownModel(text) => Error::UnknownModel(text),
        embeddings::Error::Invalid(text) => Error::Invalid(text),
        embeddings::Error::Busy(seconds) => Error::Busy(seconds),
        embeddings::Error::Failed(text) => Error::Failed(text),
    }
}

/// Ranks `texts` for `query`.
async fn ranked(
    resources: &SlotResources,
    model: &str,
    query: String,
    texts: Vec<String>,
    options: Options,
) -> Result<Vec<RankedText>, Error> {
    let access: Option<&SlotModelAccess> = resources.get();
    let none = || Error::UnknownModel("this slot's service uses no models".to_owned());
    let access = access.ok_or_else(none)?;
    let model = access.model(model).map_err(converted)?;
    let options = RankOptions { raw_scores: options.raw_scores, refuse_long: options.refuse_long };
    let ranking = access.rank(&model, query, texts, options).await.map_err(converted)?;
    let text = |text: crate::RankedText| RankedText {
        index: u32::try_from(text.index).unwrap_or(u32::MAX),
        score: text.score,
    };
    Ok(ranking.into_iter().map(text).collect())
}

impl rerank::Host for ModelCall<'_> {
    async fn rank(
        &mut self,
        model: String,
        query: String,
        texts: Vec<String>,
        options: Options,
    ) -> wasmtime::Result<Result<Vec<RankedText>, Error>> {
        let resources = Arc::clone(&self.0.resources);
        Ok(ranked(&resources, &model, query, texts, options).await)
    }
}
