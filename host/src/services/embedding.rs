//! The embedding service: the loaded models under one time limit a request.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::{engine::Embedded, model::TextError, tokenizer::Token};

use crate::inference::{Choice, Inference, Refusal, ServedModel};

/// Most bytes of the texts of one request for tokens: an answer takes a hundred times as much.
const TOKENIZE_BYTES: usize = 1 << 20;

/// The embedding service.
#[derive(Clone, Debug)]
pub struct EmbeddingService {
    /// The models and their threads.
    pub inference: Arc<Inference>,
    /// Time for waiting and computing.
    timeout: Duration,
}

impl EmbeddingService {
    /// A service of `inference` that gives each request `timeout`.
    pub const fn new(inference: Arc<Inference>, timeout: Duration) -> Self {
        Self { inference, timeout }
    }

    /// Embeds `texts` with `model`.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn embed(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        choice: &Choice,
    ) -> Result<Embedded, Refusal> {
        self.inference.embed(model, texts, choice, Instant::now() + self.timeout).await
    }

    /// The tokens of texts.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn tokenize(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        special_tokens: bool,
        prompt_name: Option<String>,
    ) -> Result<Vec<(String, Vec<Token>)>, Refusal> {
        self.inference.check_texts(&texts)?;
        let bytes: usize = texts.iter().map(String::len).sum();
        if bytes > TOKENIZE_BYTES {
            let fault =
                format!("the inputs have {bytes} bytes, at most {TOKENIZE_BYTES} are tokenised at once");
            return Err(Refusal::Invalid(fault));
        }
        let prompt = model.prompt(prompt_name.as_deref())?;
        let model = Arc::clone(&model.model);
        let tokenize = move || {
            let prompted = texts.into_iter().map(|text| match &prompt {
                Some(prompt) => format!("{prompt}{text}"),
                None => text,
            });
            let tokens = prompted.map(|text| Ok((model.tokens(&text, special_tokens)?, text)));
            let tokens: Result<Vec<_>, TextError> = tokens.collect();
            tokens.map(|all| all.into_iter().map(|(tokens, text)| (text, tokens)).collect())
        };
        let tokens = tokio::time::timeout(self.timeout, tokio::task::spawn_blocking(tokenize)).await;
        let tokens = tokens.map_err(|_| Refusal::Deadline)?.map_err(|_| Refusal::Internal)?;
        tokens.map_err(|error| Refusal::Invalid(error.to_string()))
    }
}
