//! Embeds passages for an import, and questions to a base.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::engine::Embedded;
use bulkhead_knowledge::{Embedder, Embedding, Provenance, TokenVectors};
use bulkhead_models::{Choice, Inference, ServedModel};
use bulkhead_ticket_text::words::usual;
use futures_util::future::BoxFuture;

use super::provenance::{PASSAGE_PROMPT, QUERY_PROMPT, provenance};

/// Longest time for one batch: whoever imports or measures waits for as long as it takes, but not for ever.
const PATIENCE: Duration = Duration::from_secs(600);

/// A loaded model with one of its prompts, on the host's inference threads.
#[derive(Debug)]
pub struct Prompted {
    inference: Arc<Inference>,
    model: Arc<ServedModel>,
    prompt_name: Option<String>,
    questions: bool,
}

impl Prompted {
    /// With the prompt that passages are embedded with, where the model has it.
    pub fn for_passages(inference: Arc<Inference>, model: Arc<ServedModel>) -> Self {
        Self::new(inference, model, PASSAGE_PROMPT)
    }

    /// With the prompt that questions are embedded with, where the model has it.
    pub fn for_questions(inference: Arc<Inference>, model: Arc<ServedModel>) -> Self {
        Self::new(inference, model, QUERY_PROMPT)
    }

    fn new(inference: Arc<Inference>, model: Arc<ServedModel>, prompt: &str) -> Self {
        let known = model.model.description().prompts.contains_key(prompt);
        let questions = prompt == QUERY_PROMPT;
        Self { inference, model, prompt_name: known.then(|| prompt.to_owned()), questions }
    }

    async fn embeddings(&self, mut texts: Vec<String>) -> Result<Vec<Embedding>, String> {
        if self.questions {
            texts.iter_mut().for_each(|text| *text = usual(text).into_owned());
        }
        let prompt_name = self.prompt_name.clone();
        let choice = Choice { prompt_name, truncate: Some(true), token_vectors: true, ..Choice::default() };
        let mut embeddings = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.inference.max_batch_size().max(1)) {
            let deadline = Instant::now() + PATIENCE;
            let embedded = self.inference.embed(&self.model, batch.to_vec(), &choice, deadline).await;
            let embedded = embedded.map_err(|refusal| refusal.to_string())?;
            embeddings.extend(self::embeddings(embedded));
        }
        Ok(embeddings)
    }
}

impl Embedder for Prompted {
    fn provenance(&self) -> Provenance {
        provenance(&self.model.id, self.model.model.description())
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, String>> {
        Box::pin(self.embeddings(texts))
    }
}

/// What the engine gave, text by text.
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
