//! Embeds passages for an import and questions for a search.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::engine::{Caller, Embedded};
use bulkhead_knowledge::{Embedder, Embedding, Provenance, TokenVectors};
use bulkhead_models::{CallTerms, EmbedParameters, Inference, ServedModel};
use bulkhead_text::words::usual;
use futures_util::future::BoxFuture;

use super::provenance::{PASSAGE_PROMPT, QUERY_PROMPT, provenance};

/// Timeout of a batch: an import or a measurement may take long, but not without a limit.
const BATCH_TIMEOUT: Duration = Duration::from_secs(600);

/// The most texts of a batch.
const BATCH_TEXTS: usize = 256;

/// A loaded model with one of its prompts, on the host's inference threads.
#[derive(Debug)]
pub struct PromptEmbedder {
    inference: Arc<Inference>,
    model: Arc<ServedModel>,
    prompt_name: Option<String>,
    questions: bool,
}

impl PromptEmbedder {
    /// Creates an embedder with the prompt of passages, where the model has it.
    pub fn for_passages(inference: Arc<Inference>, model: Arc<ServedModel>) -> Self {
        Self::new(inference, model, PASSAGE_PROMPT)
    }

    /// Creates an embedder with the prompt of questions, where the model has it.
    pub fn for_questions(inference: Arc<Inference>, model: Arc<ServedModel>) -> Self {
        Self::new(inference, model, QUERY_PROMPT)
    }

    /// Creates an embedder with a prompt, where the model has it.
    fn new(inference: Arc<Inference>, model: Arc<ServedModel>, prompt: &str) -> Self {
        let known = model.model.description().prompts.contains_key(prompt);
        let questions = prompt == QUERY_PROMPT;
        Self { inference, model, prompt_name: known.then(|| prompt.to_owned()), questions }
    }

    /// Embeds the texts in batches.
    async fn embeddings(&self, mut texts: Vec<String>) -> Result<Vec<Embedding>, String> {
        if self.questions {
            texts.iter_mut().for_each(|text| *text = usual(text).into_owned());
        }
        let prompt_name = self.prompt_name.clone();
        let parameters = EmbedParameters {
            prompt_name,
            truncate: Some(true),
            token_vectors: true,
            ..EmbedParameters::default()
        };
        let mut embeddings = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.inference.max_batch_size().clamp(1, BATCH_TEXTS)) {
            let terms = CallTerms::until(Caller::HOST, Instant::now() + BATCH_TIMEOUT);
            let embedded = self.inference.embed(&self.model, batch.to_vec(), &parameters, terms).await;
            let embedded = embedded.map_err(|error| error.to_string())?;
            embeddings.extend(self::embeddings(embedded));
        }
        Ok(embeddings)
    }
}

impl Embedder for PromptEmbedder {
    fn provenance(&self) -> Provenance {
        provenance(&self.model.id, self.model.model.description())
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, String>> {
        Box::pin(self.embeddings(texts))
    }
}

/// Converts the engine's result to one embedding per text.
pub(super) fn embeddings(embedded: Embedded) -> Vec<Embedding> {
    let mut tokens = embedded.token_vectors.into_iter();
    let vectors = embedded.vectors.chunks_exact(embedded.dims.max(1));
    let embedding = |vector: &[f32]| {
        let tokens = tokens.next().map(|own| TokenVectors {
            vectors: own.vectors,
            dims: own.dims,
            importance: own.importance,
        });
        Embedding { vector: vector.to_vec(), tokens }
    };
    vectors.map(embedding).collect()
}
