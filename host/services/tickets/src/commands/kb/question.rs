//! Searches a knowledge base with the model that it was embedded with.

use bulkhead_config::Config;
use bulkhead_knowledge::{Embedder as _, KnowledgeBase, Mode, Passage, Query};
use bulkhead_sources::catalog;

use super::{load_model, open};
use crate::knowledge::{PromptEmbedder, matching_model};

/// A knowledge base and the model that it was embedded with.
pub(super) struct Searcher {
    pub(super) base: KnowledgeBase,
    pub(super) embedder: PromptEmbedder,
}

impl Searcher {
    /// Opens the base and loads its model.
    pub(super) async fn open(config: &Config) -> anyhow::Result<Self> {
        let base = open(config, Mode::Read).await?;
        let Some(recorded) = base.provenance() else {
            anyhow::bail!("the knowledge base is empty; fill it with `bulkhead kb import`");
        };
        // A re-pack was recorded under the id of its original before it got its own.
        let repack = catalog::repack_of(&recorded.model).map(|known| known.id);
        for id in [Some(recorded.model.as_str()), repack].into_iter().flatten() {
            let Ok((inference, _)) = load_model(config, Some(id)) else { continue };
            if let Ok(model) = matching_model(Some(&inference), &recorded) {
                return Ok(Self { base, embedder: PromptEmbedder::for_questions(inference, model) });
            }
        }
        // A model without a name is configured by its folder; it must be the first one.
        let (inference, _) = load_model(config, None)?;
        let model = matching_model(Some(&inference), &recorded)?;
        Ok(Self { base, embedder: PromptEmbedder::for_questions(inference, model) })
    }

    /// Returns the passages on `text`, the best first.
    pub(super) async fn search(
        &self,
        text: &str,
        categories: Vec<String>,
        limit: usize,
    ) -> anyhow::Result<Vec<Passage>> {
        let text = text.to_owned();
        let embedding = self.embedder.embed(vec![text.clone()]).await.map_err(anyhow::Error::msg)?.pop();
        Ok(self.base.search(&Query { text, embedding, categories, limit, ..Query::default() }).await?)
    }
}
