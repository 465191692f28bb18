//! A request that runs a model: which one, and with what.

use std::sync::Arc;

use axum::{extract::FromRequestParts, http::request::Parts};
use bulkhead_inference::engine::{Embedded, Input};
use bulkhead_models::{EmbedParameters, ServedModel, config::NamedModels};

use super::{
    EmbeddingState,
    error::EmbeddingApiError,
    work::{self, Work},
};
use crate::callers::RequestCaller;

/// A request that runs a model, and for whom.
pub struct ModelRun {
    state: Arc<EmbeddingState>,
    caller: RequestCaller,
}

impl FromRequestParts<Arc<EmbeddingState>> for ModelRun {
    type Rejection = EmbeddingApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<EmbeddingState>,
    ) -> Result<Self, EmbeddingApiError> {
        let caller = parts.extensions.get::<RequestCaller>().cloned();
        let caller = caller.ok_or_else(EmbeddingApiError::unauthorized)?;
        Ok(Self { state: Arc::clone(state), caller })
    }
}

impl ModelRun {
    /// Returns the state of the routes.
    pub fn state(&self) -> &EmbeddingState {
        &self.state
    }

    /// Returns the model of `/tei/{model_id}`, without a segment the first that `fits`, the default before others.
    ///
    /// # Errors
    /// When there is no model of this name, or none that fits; `wanted` says what an operator can load.
    pub fn model(
        &self,
        segment: Option<&str>,
        fits: impl Fn(&ServedModel) -> bool,
        wanted: &str,
    ) -> Result<&ServedModel, EmbeddingApiError> {
        if let Some(segment) = segment {
            return self.state.model_at(segment);
        }
        let mut models = self.state.service.inference.models();
        models.find(|model| fits(model)).ok_or_else(|| {
            EmbeddingApiError::invalid(format_args!("no loaded model {wanted} in embedding.models"))
        })
    }

    /// Returns the model of `/tei/{model_id}`, without a segment the default.
    ///
    /// # Errors
    /// When there is no model of this name, or the default is not loaded.
    pub fn embedder(&self, segment: Option<&str>) -> Result<&ServedModel, EmbeddingApiError> {
        match segment {
            Some(segment) => self.state.model_at(segment),
            None => self.state.default_model(),
        }
    }

    /// Returns the model that a body names by its canonical id or alias; where bodies may name any, the first that `fits`
    /// answers for one that is not loaded.
    ///
    /// # Errors
    /// When no such model is loaded.
    pub fn named(
        &self,
        id: &str,
        fits: impl Fn(&ServedModel) -> bool,
        wanted: &str,
    ) -> Result<&ServedModel, EmbeddingApiError> {
        let is_loaded = self.state.service.inference.by_id(id).is_some();
        match !is_loaded && self.state.model_names == NamedModels::Any {
            true => self.model(None, fits, wanted),
            false => self.state.model_named(id),
        }
    }

    /// Counts the tokens that `model` makes of texts, cut as [`Self::run`] cuts them.
    ///
    /// # Errors
    /// When they cannot be tokenized, or not in time.
    pub async fn count_tokens(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        parameters: &mut EmbedParameters,
    ) -> Result<usize, EmbeddingApiError> {
        parameters.truncate.get_or_insert(self.state.auto_truncate);
        Ok(self.state.service.count_tokens(&self.caller, model, texts, parameters).await?)
    }

    /// Runs `model` on texts and pairs of texts. Where the call does not say whether texts are cut, the configuration does.
    ///
    /// # Errors
    /// When they cannot be worked on, or not in time.
    pub async fn run(
        &self,
        model: &ServedModel,
        inputs: Vec<Input>,
        mut parameters: EmbedParameters,
    ) -> Result<(Work<'_>, Embedded), EmbeddingApiError> {
        parameters.truncate.get_or_insert(self.state.auto_truncate);
        let characters = work::characters_of_inputs(&inputs);
        let work = Work::begin(&self.state, model, inputs.len(), characters);
        let embedded = self.state.service.run_inputs(&self.caller, model, inputs, &parameters).await?;
        Ok((work, embedded))
    }
}
