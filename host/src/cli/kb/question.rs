//! Questions to a base, embedded with its own model.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_knowledge::{KnowledgeBase, Mode, Passage, Query};

use super::{load_model, open};
use crate::{
    config::Config,
    inference::{Choice, Inference, ServedModel},
    knowledge::{QUERY_PROMPT, fitting_model},
};

/// Longest time for one question.
const PATIENCE: Duration = Duration::from_secs(60);

/// A base and the model that it was embedded with.
pub(super) struct Questions {
    base: KnowledgeBase,
    inference: Arc<Inference>,
    model: Arc<ServedModel>,
}

impl Questions {
    /// Opens the base and loads its model.
    pub(super) async fn open(config: &Config) -> anyhow::Result<Self> {
        let base = open(config, Mode::Read).await?;
        let Some(recorded) = base.provenance() else {
            anyhow::bail!("the knowledge base is empty; fill it with `bulkhead kb import`");
        };
        // A model is configured by its folder where it has no name: then it has to be the first one.
        let (inference, model) = match load_model(config, Some(&recorded.model)) {
            Ok(loaded) => loaded,
            Err(_) => load_model(config, None)?,
        };
        fitting_model(Some(&inference), &recorded)?;
        Ok(Self { base, inference, model })
    }

    /// What the base has on `text`, the best first.
    pub(super) async fn ask(
        &self,
        text: &str,
        categories: Vec<String>,
        limit: usize,
    ) -> anyhow::Result<Vec<Passage>> {
        let prompts = &self.model.model.description().prompts;
        let choice = Choice {
            prompt_name: prompts.contains_key(QUERY_PROMPT).then(|| QUERY_PROMPT.to_owned()),
            truncate: Some(true),
            ..Choice::default()
        };
        let deadline = Instant::now() + PATIENCE;
        let embedded = self.inference.embed(&self.model, vec![text.to_owned()], &choice, deadline).await?;
        let query = Query { text: text.to_owned(), vector: Some(embedded.vectors), categories, limit };
        Ok(self.base.search(&query).await?)
    }
}
