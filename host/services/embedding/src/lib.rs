//! The embedding service: the loaded models, its callers, and how long a request may take.

pub mod alias;
pub mod callers;
mod command;
mod flags;
pub mod http;
pub mod metrics;
mod models;
pub mod service;
pub mod spec;

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::{
    engine::{self, Embedded, Input},
    tokenizer::Token,
};
use bulkhead_models::{
    CallTerms, EmbedParameters, Inference, InferenceError, ServedModel, metrics::EmbeddingRefusal,
};

use self::{
    callers::RequestCaller,
    http::{EmbedInputs, OpenAiInputs},
};

/// The maximum bytes of the texts of a `/tokenize` request: the response is up to seventy times as large, and a text blocks
/// its thread until it is done.
const TOKENIZE_BYTES: usize = 64 << 10;

/// The embedding service: the models and the times of a request.
#[derive(Clone, Debug)]
pub struct EmbeddingService {
    /// The models and their threads.
    pub inference: Arc<Inference>,
    /// How long a request may wait for its first turn.
    timeout: Duration,
    /// How long it may take from there on.
    work: Duration,
}

impl EmbeddingService {
    /// Creates a service of `inference`: requests may wait for the time `timeout`, and take the time `work` then.
    pub const fn new(inference: Arc<Inference>, timeout: Duration, work: Duration) -> Self {
        Self { inference, timeout, work }
    }

    /// Embeds `texts` with `model`.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn embed(
        &self,
        caller: &RequestCaller,
        model: &ServedModel,
        texts: Vec<String>,
        parameters: &EmbedParameters,
    ) -> Result<Embedded, InferenceError> {
        let inputs = texts.into_iter().map(Input::Text).collect();
        self.run_inputs(caller, model, inputs, parameters).await
    }

    /// Does `work` of about so many tokens within the caller's quota. They stay used if the client leaves.
    async fn within_quota(
        &self,
        caller: &RequestCaller,
        tokens: usize,
        work: impl Future<Output = Result<Embedded, InferenceError>>,
    ) -> Result<Embedded, InferenceError> {
        caller.reserve(tokens).inspect_err(|_| {
            self.inference.record_refusal(caller.caller.kind, EmbeddingRefusal::TokensPerSecond);
        })?;
        let embedded = work.await;
        caller.settle(tokens, embedded.as_ref().map_or(0, |embedded| embedded.tokens));
        embedded
    }

    /// Returns the terms of a request that begins now.
    fn terms(&self, caller: &RequestCaller) -> CallTerms {
        CallTerms { caller: caller.caller, deadline: Instant::now() + self.timeout, work: self.work }
    }

    /// Embeds the inputs of a body in the shape of OpenAI.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub(crate) async fn embed_inputs(
        &self,
        caller: &RequestCaller,
        model: &ServedModel,
        inputs: OpenAiInputs,
        parameters: &EmbedParameters,
    ) -> Result<Embedded, InferenceError> {
        match inputs {
            OpenAiInputs::Texts(EmbedInputs(texts)) => self.embed(caller, model, texts, parameters).await,
            OpenAiInputs::Ids(ids) => {
                let tokens = ids.iter().map(Vec::len).sum();
                let work = self.inference.embed_ids(model, ids, parameters, self.terms(caller));
                self.within_quota(caller, tokens, work).await
            }
        }
    }

    /// Runs `model` on texts and pairs of texts.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn run_inputs(
        &self,
        caller: &RequestCaller,
        model: &ServedModel,
        inputs: Vec<Input>,
        parameters: &EmbedParameters,
    ) -> Result<Embedded, InferenceError> {
        let tokens = engine::estimated_tokens(&model.model, &inputs);
        let work = self.inference.run_inputs(model, inputs, parameters, self.terms(caller));
        self.within_quota(caller, tokens, work).await
    }

    /// Counts the tokens that `model` makes of `texts`.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn count_tokens(
        &self,
        caller: &RequestCaller,
        model: &ServedModel,
        texts: Vec<String>,
        parameters: &EmbedParameters,
    ) -> Result<usize, InferenceError> {
        self.inference.count_tokens(model, texts, parameters, self.terms(caller)).await
    }

    /// Tokenizes each of `texts` with its prompt, and converts the tokens with `show`.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn tokenize<T: Send + 'static>(
        &self,
        caller: &RequestCaller,
        model: &ServedModel,
        texts: Vec<String>,
        special_tokens: bool,
        prompt_name: Option<&str>,
        show: impl Fn(&str, &[Token]) -> T + Send + Sync + 'static,
    ) -> Result<Vec<T>, InferenceError> {
        self.inference.check_texts(&texts)?;
        let bytes: usize = texts.iter().map(String::len).sum();
        if bytes > TOKENIZE_BYTES {
            let fault =
                format!("the inputs have {bytes} bytes, at most {TOKENIZE_BYTES} are tokenized at once");
            return Err(InferenceError::Invalid(fault));
        }
        let prompt = model.prompt(prompt_name)?;
        let model = Arc::clone(&model.model);
        let work = move |text: &str| {
            let text = match &prompt {
                Some(prompt) => Cow::Owned(format!("{prompt}{text}")),
                None => Cow::Borrowed(text),
            };
            let tokens = model.tokens(&text, special_tokens)?;
            Ok(show(&text, &tokens))
        };
        self.inference.each(texts, self.terms(caller), work).await
    }
}
