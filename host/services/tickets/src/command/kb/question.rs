//! Searches a knowledge base with the model that it was embedded with.

use bulkhead_config::Config;
use bulkhead_knowledge::{Embedder as _, KnowledgeBase, Mode, Passage, Query, Reranker, candidates, rerank};
use bulkhead_sources::catalog;

use super::{load_model, load_reranker, open};
use crate::knowledge::{HostReranker, PromptEmbedder, matching_model};

/// A knowledge base, the model that it was embedded with, and the one that orders what is found.
pub(super) struct Searcher {
    pub(super) base: KnowledgeBase,
    pub(super) embedder: PromptEmbedder,
    reranker: Option<HostReranker>,
}

impl Searcher {
    /// Opens the base and loads its model, and the configured one that orders what is found.
    pub(super) async fn open(config: &Config) -> anyhow::Result<Self> {
        let base = open(config, Mode::Read).await?;
        let embedder = Self::embedder(config, &base)?;
        Ok(Self { base, embedder, reranker: load_reranker(config)? })
    }

    /// Loads the model that the base was embedded with.
    fn embedder(config: &Config, base: &KnowledgeBase) -> anyhow::Result<PromptEmbedder> {
        let Some(recorded) = base.provenance() else {
            anyhow::bail!("the knowledge base is empty; fill it with `bulkhead kb import`");
        };
        // A re-pack was recorded under the id of its original before it got its own.
        let repack = catalog::repack_of(&recorded.model).map(|known| known.id);
        for id in [Some(recorded.model.as_str()), repack].into_iter().flatten() {
            let Ok((inference, _)) = load_model(config, Some(id)) else { continue };
            if let Ok(model) = matching_model(Some(&inference), &recorded) {
                return Ok(PromptEmbedder::for_questions(inference, model));
            }
        }
        // A model without a name is configured by its folder; it must be the first one.
        let (inference, _) = load_model(config, None)?;
        let model = matching_model(Some(&inference), &recorded)?;
        Ok(PromptEmbedder::for_questions(inference, model))
    }

    /// Returns the model that orders what is found, if one is configured.
    pub(super) fn reranker(&self) -> Option<&dyn Reranker> {
        self.reranker.as_ref().map(|reranker| reranker as &dyn Reranker)
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
        let reranker = self.reranker();
        let limited = candidates(limit, reranker);
        let query = Query { text, embedding, categories, limit: limited, ..Query::default() };
        let found = self.base.search(&query).await?;
        Ok(rerank(reranker, &query.text, found, limit, |passage| passage).await?)
    }
}
