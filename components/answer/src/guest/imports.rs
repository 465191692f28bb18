//! The [`Host`] trait implemented with the world's imports: knowledge base, language model and guard.

use super::LOG;
use super::bindings::bulkhead::answer::{items, search};
use crate::answer::{Host, SearchError};
use crate::passage::{Item, Passage};
use bulkhead_ticket_text::guarding::Verdict;
use bulkhead_ticket_text::host;
use bulkhead_ticket_text::llm::{Failure, Question};

/// The world's imports.
pub struct Imports;

fn passage(found: items::Found) -> Passage {
    let search::Passage { document, title, url, text, language, score, .. } = found.passage;
    let item = |one: items::Item| Item { range: one.start as usize..one.end as usize, score: one.score };
    let items = found.items.into_iter().map(item).collect();
    Passage { document, title, url, text, language, score, items }
}

impl Host for Imports {
    fn find(
        &self,
        texts: &[String],
        limit: u32,
        category: Option<&str>,
    ) -> Result<Vec<Passage>, SearchError> {
        let options =
            search::Options { limit, categories: category.map(str::to_owned).into_iter().collect() };
        match items::find(texts, &options) {
            Ok(found) => Ok(found.into_iter().map(passage).collect()),
            Err(search::Error::Unavailable(why)) => {
                LOG.warn(&format!("the knowledge base cannot be searched: {why}"));
                Err(SearchError::Unavailable)
            }
            Err(search::Error::Internal(why)) => Err(SearchError::Failed(why)),
        }
    }

    fn ask(&self, question: &Question) -> Result<String, Failure> {
        host::ask(question, "answer", None).map_err(|(failure, why)| {
            LOG.warn(&format!("the language model did not write an answer: {why}"));
            failure
        })
    }

    fn guard(&self, text: &str, answer: Option<&str>) -> Verdict {
        host::judge(LOG, text, answer)
    }
}
