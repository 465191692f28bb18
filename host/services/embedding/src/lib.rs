//! The embedding service: the loaded models under one time limit a request.

pub mod alias;
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

use bulkhead_inference::{engine::Embedded, tokenizer::Token};
use bulkhead_models::{Choice, Inference, Refusal, ServedModel};

/// Most bytes of the texts of one request for tokens: an answer takes up to seventy times as much, and nobody else has the
/// thread until a text is done.
const TOKENIZE_BYTES: usize = 64 << 10;

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

    /// What `show` makes of the tokens of each of `texts`, a prompt before the text included.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn tokenize<T: Send + 'static>(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        special_tokens: bool,
        prompt_name: Option<&str>,
        show: impl Fn(&str, &[Token]) -> T + Send + Sync + 'static,
    ) -> Result<Vec<T>, Refusal> {
        self.inference.check_texts(&texts)?;
        let bytes: usize = texts.iter().map(String::len).sum();
        if bytes > TOKENIZE_BYTES {
            let fault =
                format!("the inputs have {bytes} bytes, at most {TOKENIZE_BYTES} are tokenised at once");
            return Err(Refusal::Invalid(fault));
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
        self.inference.each(texts, Instant::now() + self.timeout, work).await
    }
}
