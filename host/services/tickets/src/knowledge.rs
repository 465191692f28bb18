//! The knowledge base that answers come from: opened for reading, searched with the model that it was embedded with.

pub mod config;
pub(crate) mod open;
mod prompted;
mod provenance;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_config::secret::Secret;
use bulkhead_knowledge::{Error, KnowledgeBase, Mode, Passage, Provenance, Query};
use bulkhead_models::{Choice, Denied, Gate, Inference, Refusal, ServedModel};
use bulkhead_ticket_text::words::usual;
use tokio::sync::OnceCell;

use self::provenance::QUERY_PROMPT;

pub use self::{
    prompted::Prompted,
    provenance::{Misfit, fitting_model, provenance},
};

/// Time before a base that was not there is looked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// A knowledge base, or a place where there will be one. One that is made, changed or replaced while the host serves is
/// noticed by the next search.
pub struct Knowledge {
    url: Secret,
    inference: Option<Arc<Inference>>,
    base: OnceCell<KnowledgeBase>,
    /// When it was last not there, and why.
    absent: Mutex<Option<(Instant, String)>>,
}

impl std::fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Knowledge").field("opened", &self.base.initialized()).finish_non_exhaustive()
    }
}

/// Why a host does not start with a base.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not one that this program reads.
    #[error("cannot use the knowledge base at tickets.knowledge.url: {0}")]
    Base(Error),
    /// Another model made its vectors.
    #[error(transparent)]
    Model(Misfit),
    /// Its model made its vectors, and the slot may not use that.
    #[error(
        "the knowledge base cannot be searched: {0}, or embed everything again with `bulkhead kb import --reembed SOURCE`"
    )]
    Denied(Denied),
}

/// Why nothing is searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// There is no base, or nothing to search it with; the text says what an operator can do.
    #[error("{0}")]
    Unavailable(String),
    /// It failed this time.
    #[error("{0}")]
    Failed(String),
}

impl Knowledge {
    /// The base at `url`, which need not be there yet.
    pub fn new(url: Secret, inference: Option<Arc<Inference>>) -> Self {
        Self { url, inference, base: OnceCell::new(), absent: Mutex::new(None) }
    }

    /// Opens the base, to be searched within what `gate` allows; the text says why it cannot be for now, if so.
    ///
    /// # Errors
    /// When it cannot be searched until an operator has done something about the base or the configuration.
    pub async fn open(&self, gate: &Gate) -> Result<Option<String>, OpenError> {
        match KnowledgeBase::open(self.url.expose(), Mode::Read).await {
            Ok(base) => drop(self.base.set(base)),
            Err(error) if is_absence(&error) => return Ok(Some(error.to_string())),
            Err(error) => return Err(OpenError::Base(error)),
        }
        match self.model().await {
            Ok((model, _)) => match gate.model(&model.id) {
                Ok(_) => Ok(None),
                Err(denied @ Denied::NotAllowed { .. }) => Err(OpenError::Denied(denied)),
                Err(denied) => Ok(Some(denied.to_string())),
            },
            Err(Unfit::Misfit(misfit @ Misfit::Other { .. })) => Err(OpenError::Model(misfit)),
            Err(Unfit::Misfit(misfit)) => Ok(Some(misfit.to_string())),
            Err(Unfit::Search(error)) => Ok(Some(error.to_string())),
        }
    }

    /// Passages that `text` is about, best first, one a document, embedding within the quotas of `gate`.
    /// `categories` are those that documents are for; none: any.
    ///
    /// # Errors
    /// See [`SearchError`].
    pub async fn search(
        &self,
        gate: &Gate,
        text: String,
        categories: Vec<String>,
        limit: usize,
    ) -> Result<Vec<Passage>, SearchError> {
        let base = self.base().await?;
        let question = Query { text, categories, limit, ..Query::default() };
        // Which model the base has is known from the search before: to ask the database costs as much as to search, and
        // a search says so if it no longer holds.
        let known = base.provenance().and_then(|known| {
            let model = fitting_model(self.inference.as_deref(), &known).ok()?;
            // A base of a model that may not be used may have another by now.
            gate.model(&model.id).is_ok().then_some((model, known))
        });
        if let Some((model, known)) = known {
            let query = embedded(gate, &model, known, question.clone()).await?;
            match base.search(&query).await {
                Err(Error::Reembedded) => {}
                found => return found.map_err(failed),
            }
        }
        let (model, recorded) = self.model().await?;
        base.search(&embedded(gate, &model, recorded, question).await?).await.map_err(failed)
    }

    /// The loaded model that the base was embedded with, as it is now.
    async fn model(&self) -> Result<(Arc<ServedModel>, Provenance), Unfit> {
        let recorded: Option<Provenance> = self.base().await?.refresh().await.map_err(failed)?;
        let empty = || SearchError::Unavailable("it is empty; fill it with `bulkhead kb import`".to_owned());
        let recorded = recorded.ok_or_else(empty)?;
        Ok((fitting_model(self.inference.as_deref(), &recorded)?, recorded))
    }

    /// The base, opened now if it was not there before.
    async fn base(&self) -> Result<&KnowledgeBase, SearchError> {
        if let Some(reason) = self.lately_absent() {
            return Err(SearchError::Unavailable(reason));
        }
        let opened = self.base.get_or_try_init(|| KnowledgeBase::open(self.url.expose(), Mode::Read)).await;
        opened.map_err(|error| {
            let reason = absence(&error).to_owned();
            // That there is none was said at the start.
            if !matches!(error, Error::Missing(_) | Error::NotInitialized) {
                tracing::warn!(%error, "the knowledge base cannot be opened");
            }
            *self.absent.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((Instant::now(), reason.clone()));
            SearchError::Unavailable(reason)
        })
    }

    fn lately_absent(&self) -> Option<String> {
        let absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        absent.as_ref().filter(|(since, _)| since.elapsed() < AGAIN).map(|(_, reason)| reason.clone())
    }
}

/// `question` with its embedding by `model`, which is what `provenance` describes.
async fn embedded(
    gate: &Gate,
    model: &ServedModel,
    provenance: Provenance,
    question: Query,
) -> Result<Query, SearchError> {
    let allowed = gate.model(&model.id).map_err(|denied| SearchError::Unavailable(denied.to_string()))?;
    let prompt = allowed.model.description().prompts.contains_key(QUERY_PROMPT);
    let choice = Choice {
        prompt_name: prompt.then(|| QUERY_PROMPT.to_owned()),
        truncate: Some(true),
        token_vectors: true,
        ..Choice::default()
    };
    let embedded = gate.embed(&allowed, vec![usual(&question.text).into_owned()], &choice).await?;
    Ok(Query { embedding: prompted::embeddings(embedded).pop(), provenance: Some(provenance), ..question })
}

/// Why there is no model to search with.
#[derive(Debug)]
enum Unfit {
    Search(SearchError),
    Misfit(Misfit),
}

impl From<SearchError> for Unfit {
    fn from(error: SearchError) -> Self {
        Self::Search(error)
    }
}

impl From<Misfit> for Unfit {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

impl From<Unfit> for SearchError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Search(error) => error,
            Unfit::Misfit(Misfit::Absent { id, .. }) => {
                Self::Unavailable(format!("the model `{id}` that it was embedded with is not loaded"))
            }
            Unfit::Misfit(Misfit::Other { .. }) => {
                let why = "it was embedded with another model than the loaded one; run `bulkhead kb import --reembed SOURCE`";
                Self::Unavailable(why.to_owned())
            }
        }
    }
}

impl From<Refusal> for SearchError {
    fn from(refusal: Refusal) -> Self {
        Self::Failed(refusal.to_string())
    }
}

/// Whether a base may be there later without anybody changing the configuration.
const fn is_absence(error: &Error) -> bool {
    matches!(
        error,
        Error::Missing(_) | Error::NotInitialized | Error::Database(_) | Error::Busy | Error::Timeout
    )
}

/// Why a base is not there, for whoever reads a ticket's answer: no path and no address.
const fn absence(error: &Error) -> &'static str {
    match error {
        Error::Missing(_) | Error::NotInitialized => "there is none yet; make one with `bulkhead kb import`",
        Error::Database(_) | Error::Busy | Error::Timeout => {
            "its database does not answer; the host's log has the reason"
        }
        _ => "it cannot be opened; the host's log has the reason",
    }
}

/// What a database says stays in the log.
fn failed(error: Error) -> SearchError {
    // Its file was taken away: as good as never made.
    if matches!(error, Error::Missing(_) | Error::NotInitialized) {
        return SearchError::Unavailable(absence(&error).to_owned());
    }
    tracing::error!(%error, "the knowledge base cannot be searched");
    SearchError::Failed(
        "the knowledge base cannot be searched; ask again, the host's log has the reason".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_databases_stay_inside() {
        const WORDS: &str = "relation \"knowledge_passage\" does not exist";
        for error in [Error::Database(WORDS.to_owned()), Error::Damaged(WORDS.to_owned()), Error::Timeout] {
            let reason = absence(&error);
            assert!(!reason.contains("relation") && reason.contains("the host's log"), "{reason}");
            let text = failed(error).to_string();
            assert!(!text.contains("relation") && text.contains("the host's log"), "{text}");
        }
    }
}
