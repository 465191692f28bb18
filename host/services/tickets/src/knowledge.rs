//! The knowledge base of answers: opened for reading, and searched with the model that it was embedded with.

pub mod config;
mod prompt_embedder;
mod provenance;
mod reranker;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_config::secret::Secret;
use bulkhead_knowledge::{
    Error, KnowledgeBase, Mode, Passage, PassageItems, Provenance, Query, Reranker, candidates, rerank,
};
use bulkhead_models::{
    EmbedParameters, Inference, InferenceError, ModelAccessError, ServedModel, SlotModelAccess,
};
use bulkhead_text::words::usual;
use tokio::sync::OnceCell;

use self::{provenance::QUERY_PROMPT, reranker::SlotReranker};

pub use self::{
    prompt_embedder::PromptEmbedder,
    provenance::{ModelMismatch, matching_model, provenance},
    reranker::{HostReranker, RerankerError, reranking_model},
};

/// Time before the host tries again to open a missing base.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// A knowledge base that need not exist yet. A base that is created, changed or replaced while the host serves is used by the
/// next search.
pub struct Knowledge {
    url: Secret,
    inference: Option<Arc<Inference>>,
    /// The model that orders what is found.
    reranker: Option<Arc<ServedModel>>,
    base: OnceCell<KnowledgeBase>,
    /// When it was last missing, and why.
    absent: Mutex<Option<(Instant, String)>>,
}

impl std::fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Knowledge").field("opened", &self.base.initialized()).finish_non_exhaustive()
    }
}

/// Why a host cannot start with a knowledge base.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeOpenError {
    /// The base cannot be read.
    #[error("cannot use the knowledge base at tickets.knowledge.url: {0}")]
    Base(Error),
    /// Its vectors were made by another model.
    #[error(transparent)]
    Model(ModelMismatch),
    /// The slot may not use its model.
    #[error(
        "the knowledge base cannot be searched: {0}, or embed everything again with `bulkhead kb import --reembed`"
    )]
    Denied(ModelAccessError),
}

/// Why a search failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeSearchError {
    /// The base or its model is missing; the text says how an operator can fix it.
    #[error("{0}")]
    Unavailable(String),
    /// The search failed this time.
    #[error("{0}")]
    Failed(String),
}

impl Knowledge {
    /// Creates the base at `url`, which need not exist yet. `reranker` orders what is found.
    pub fn new(url: Secret, inference: Option<Arc<Inference>>, reranker: Option<Arc<ServedModel>>) -> Self {
        Self { url, inference, reranker, base: OnceCell::new(), absent: Mutex::new(None) }
    }

    /// Opens the base and checks that `access` allows its model. Returns the reason if it cannot be searched for now.
    ///
    /// # Errors
    /// When it cannot be searched until an operator changes the base or the configuration.
    pub async fn open(&self, access: &SlotModelAccess) -> Result<Option<String>, KnowledgeOpenError> {
        match KnowledgeBase::open(self.url.expose(), Mode::Read).await {
            Ok(base) => drop(self.base.set(base)),
            Err(error) if is_absence(&error) => return Ok(Some(error.to_string())),
            Err(error) => return Err(KnowledgeOpenError::Base(error)),
        }
        match self.model().await {
            Ok((model, _)) => match access.model(&model.id) {
                Ok(_) => Ok(None),
                Err(denied @ ModelAccessError::NotAllowed { .. }) => Err(KnowledgeOpenError::Denied(denied)),
                Err(denied) => Ok(Some(denied.to_string())),
            },
            Err(ModelLookupError::Mismatch(mismatch @ ModelMismatch::OtherModel { .. })) => {
                Err(KnowledgeOpenError::Model(mismatch))
            }
            Err(ModelLookupError::Mismatch(mismatch)) => Ok(Some(mismatch.to_string())),
            Err(ModelLookupError::Search(error)) => Ok(Some(error.to_string())),
        }
    }

    /// Returns whether there is a base that cannot be read: its file is damaged, or its database does not answer.
    pub async fn is_unreadable(&self) -> bool {
        let opened = KnowledgeBase::open(self.url.expose(), Mode::Read).await;
        opened.is_err_and(|error| is_unreadable(&error))
    }

    /// Searches passages about `text`, best first, one per document, within the quotas of `access`. `categories` are those of
    /// the documents; empty: any.
    ///
    /// # Errors
    /// See [`KnowledgeSearchError`].
    pub async fn search(
        &self,
        access: &SlotModelAccess,
        text: String,
        categories: Vec<String>,
        limit: usize,
    ) -> Result<Vec<Passage>, KnowledgeSearchError> {
        let reranker = self.reranker(access);
        let reranker = reranker.as_ref().map(|reranker| reranker as &dyn Reranker);
        let question = Query { text, categories, limit: candidates(limit, reranker), ..Query::default() };
        let found = self.passages(access, &question).await?;
        rerank(reranker, &question.text, found, limit, |passage| passage).await.map_err(search_failed)
    }

    /// Searches the passages with the best items for `texts`, a question and its sentences, within the quotas of `access`.
    ///
    /// # Errors
    /// See [`KnowledgeSearchError`].
    pub async fn find(
        &self,
        access: &SlotModelAccess,
        texts: Vec<String>,
        categories: Vec<String>,
        limit: usize,
    ) -> Result<Vec<PassageItems>, KnowledgeSearchError> {
        let reranker = self.reranker(access);
        let reranker = reranker.as_ref().map(|reranker| reranker as &dyn Reranker);
        let (text, sentences) = texts.split_first().ok_or_else(no_text)?;
        let limited = candidates(limit, reranker);
        let question = Query { text: text.clone(), categories, limit: limited, ..Query::default() };
        let found = self.items(access, &question, sentences).await?;
        rerank(reranker, text, found, limit, |found| &found.passage).await.map_err(search_failed)
    }

    /// Searches passages, in the order of the search.
    async fn passages(
        &self,
        access: &SlotModelAccess,
        question: &Query,
    ) -> Result<Vec<Passage>, KnowledgeSearchError> {
        let base = self.base().await?;
        if let Some((model, known)) = self.known_model(access, base) {
            let (query, _) = embed_question(access, &model, known, question.clone(), &[]).await?;
            match base.search(&query).await {
                Err(Error::Reembedded) => {}
                found => return found.map_err(search_failed),
            }
        }
        let (model, recorded) = self.model().await?;
        let (query, _) = embed_question(access, &model, recorded, question.clone(), &[]).await?;
        base.search(&query).await.map_err(search_failed)
    }

    /// Searches passages with their items, in the order of the search.
    async fn items(
        &self,
        access: &SlotModelAccess,
        question: &Query,
        sentences: &[String],
    ) -> Result<Vec<PassageItems>, KnowledgeSearchError> {
        let base = self.base().await?;
        if let Some((model, known)) = self.known_model(access, base) {
            let (query, vectors) = embed_question(access, &model, known, question.clone(), sentences).await?;
            match base.find(&query, &vectors).await {
                Err(Error::Reembedded) => {}
                found => return found.map_err(search_failed),
            }
        }
        let (model, recorded) = self.model().await?;
        let (query, vectors) = embed_question(access, &model, recorded, question.clone(), sentences).await?;
        base.find(&query, &vectors).await.map_err(search_failed)
    }

    /// Returns the model that orders what is found, within the quotas of `access`.
    fn reranker<'a>(&'a self, access: &'a SlotModelAccess) -> Option<SlotReranker<'a>> {
        self.reranker.as_deref().map(|model| SlotReranker { access, model })
    }

    /// Returns the model of the base as the previous search knew it. A query for it would cost as much as a search, and the
    /// search fails if it has changed.
    fn known_model(
        &self,
        access: &SlotModelAccess,
        base: &KnowledgeBase,
    ) -> Option<(Arc<ServedModel>, Provenance)> {
        let known = base.provenance()?;
        let model = matching_model(self.inference.as_deref(), &known).ok()?;
        // A base whose model is not allowed may have been embedded again with another one.
        access.model(&model.id).is_ok().then_some((model, known))
    }

    /// Returns the loaded model that the base is embedded with now.
    async fn model(&self) -> Result<(Arc<ServedModel>, Provenance), ModelLookupError> {
        let recorded: Option<Provenance> = self.base().await?.refresh().await.map_err(search_failed)?;
        let empty =
            || KnowledgeSearchError::Unavailable("it is empty; fill it with `bulkhead kb import`".to_owned());
        let recorded = recorded.ok_or_else(empty)?;
        Ok((matching_model(self.inference.as_deref(), &recorded)?, recorded))
    }

    /// Returns the base, and opens it if it is not open.
    async fn base(&self) -> Result<&KnowledgeBase, KnowledgeSearchError> {
        if let Some(reason) = self.recent_absence() {
            return Err(KnowledgeSearchError::Unavailable(reason));
        }
        let opened = self.base.get_or_try_init(|| KnowledgeBase::open(self.url.expose(), Mode::Read)).await;
        opened.map_err(|error| {
            let reason = absence_reason(&error).to_owned();
            // The start has logged that it is missing.
            if !matches!(error, Error::Missing(_) | Error::NotInitialized) {
                tracing::warn!(%error, "the knowledge base cannot be opened");
            }
            *self.absent.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((Instant::now(), reason.clone()));
            KnowledgeSearchError::Unavailable(reason)
        })
    }

    /// Returns why the base was missing a short time ago, if it was.
    fn recent_absence(&self) -> Option<String> {
        let absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        absent
            .as_ref()
            .filter(|(since, _)| since.elapsed() < RETRY_INTERVAL)
            .map(|(_, reason)| reason.clone())
    }
}

/// Returns the error of a search without a question.
fn no_text() -> KnowledgeSearchError {
    KnowledgeSearchError::Failed("there is no text to search for".to_owned())
}

/// Adds to `question` its embedding by `model`, which `provenance` describes. Returns it with the vectors of its
/// `sentences`.
async fn embed_question(
    access: &SlotModelAccess,
    model: &ServedModel,
    provenance: Provenance,
    question: Query,
    sentences: &[String],
) -> Result<(Query, Vec<Vec<f32>>), KnowledgeSearchError> {
    let allowed =
        access.model(&model.id).map_err(|denied| KnowledgeSearchError::Unavailable(denied.to_string()))?;
    let prompt = allowed.model.description().prompts.contains_key(QUERY_PROMPT);
    let parameters = EmbedParameters {
        prompt_name: prompt.then(|| QUERY_PROMPT.to_owned()),
        truncate: Some(true),
        token_vectors: true,
        ..EmbedParameters::default()
    };
    let texts = [&question.text].into_iter().chain(sentences).map(|text| usual(text).into_owned());
    // The host may take fewer texts at once than a question has sentences.
    let texts = texts.take(access.max_batch_size().max(1)).collect();
    let embedded = access.embed(&allowed, texts, &parameters).await?;
    let mut embeddings = prompt_embedder::embeddings(embedded).into_iter();
    let query = Query { embedding: embeddings.next(), provenance: Some(provenance), ..question };
    Ok((query, embeddings.map(|embedding| embedding.vector).collect()))
}

/// Why the model of the base cannot be used.
#[derive(Debug)]
enum ModelLookupError {
    Search(KnowledgeSearchError),
    Mismatch(ModelMismatch),
}

impl From<KnowledgeSearchError> for ModelLookupError {
    fn from(error: KnowledgeSearchError) -> Self {
        Self::Search(error)
    }
}

impl From<ModelMismatch> for ModelLookupError {
    fn from(mismatch: ModelMismatch) -> Self {
        Self::Mismatch(mismatch)
    }
}

impl From<ModelLookupError> for KnowledgeSearchError {
    fn from(error: ModelLookupError) -> Self {
        match error {
            ModelLookupError::Search(error) => error,
            ModelLookupError::Mismatch(ModelMismatch::NotLoaded { id, .. }) => {
                Self::Unavailable(format!("the model `{id}` that it was embedded with is not loaded"))
            }
            ModelLookupError::Mismatch(ModelMismatch::OtherModel { .. }) => {
                let why = "it was embedded with another model than the loaded one; run `bulkhead kb import --reembed`";
                Self::Unavailable(why.to_owned())
            }
        }
    }
}

impl From<InferenceError> for KnowledgeSearchError {
    fn from(error: InferenceError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Checks whether a base may become available without a change of the configuration.
const fn is_absence(error: &Error) -> bool {
    matches!(error, Error::Missing(_) | Error::NotInitialized) || is_unreadable(error)
}

/// Checks whether there is a base that cannot be read now.
const fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::Database(_) | Error::Damaged(_) | Error::Busy | Error::Timeout)
}

/// Returns why a base is missing, for readers of a ticket's answer: without path and address.
const fn absence_reason(error: &Error) -> &'static str {
    match error {
        Error::Missing(_) | Error::NotInitialized => {
            "it does not exist yet; create it with `bulkhead kb import`"
        }
        Error::Database(_) | Error::Busy | Error::Timeout => {
            "its database does not answer; the host's log has the reason"
        }
        _ => "it cannot be opened; the host's log has the reason",
    }
}

/// Logs an error of the database, and returns one without its text.
fn search_failed(error: Error) -> KnowledgeSearchError {
    if let Error::Reranking(reason) = error {
        return KnowledgeSearchError::Failed(reason);
    }
    // Its file was removed, so it is missing again.
    if matches!(error, Error::Missing(_) | Error::NotInitialized) {
        return KnowledgeSearchError::Unavailable(absence_reason(&error).to_owned());
    }
    tracing::error!(%error, "the knowledge base cannot be searched");
    KnowledgeSearchError::Failed(
        "the knowledge base cannot be searched; ask again, the host's log has the reason".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_texts_are_not_shown() {
        const WORDS: &str = "relation \"knowledge_passage\" does not exist";
        for error in [Error::Database(WORDS.to_owned()), Error::Damaged(WORDS.to_owned()), Error::Timeout] {
            let reason = absence_reason(&error);
            assert!(!reason.contains("relation") && reason.contains("the host's log"), "{reason}");
            let text = search_failed(error).to_string();
            assert!(!text.contains("relation") && text.contains("the host's log"), "{text}");
        }
    }
}
