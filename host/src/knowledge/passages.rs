//! Embeds passages for an import.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_knowledge::{Embedder, Provenance};
use futures_util::future::BoxFuture;

use super::provenance::{passage_prompt, provenance};
use crate::inference::{Choice, Inference, ServedModel};

/// Longest time for one batch: whoever imports waits for as long as it takes, but not for ever.
const PATIENCE: Duration = Duration::from_secs(600);

/// A loaded model with its prompt for passages, on the host's inference threads.
#[derive(Debug)]
pub struct Passages {
    inference: Arc<Inference>,
    model: Arc<ServedModel>,
}

impl Passages {
    /// Embeds with `model`.
    pub const fn new(inference: Arc<Inference>, model: Arc<ServedModel>) -> Self {
        Self { inference, model }
    }

    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, String> {
        let choice = Choice {
            prompt_name: passage_prompt(self.model.model.description()),
            truncate: Some(true),
            ..Choice::default()
        };
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.inference.max_batch_size().max(1)) {
            let deadline = Instant::now() + PATIENCE;
            let embedded = self.inference.embed(&self.model, batch.to_vec(), &choice, deadline).await;
            let embedded = embedded.map_err(|refusal| refusal.to_string())?;
            vectors.extend(embedded.vectors.chunks_exact(embedded.dims.max(1)).map(<[f32]>::to_vec));
        }
        Ok(vectors)
    }
}

impl Embedder for Passages {
    fn provenance(&self) -> Provenance {
        provenance(&self.model.id, self.model.model.description())
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Vec<f32>>, String>> {
        Box::pin(self.vectors(texts))
    }
}
