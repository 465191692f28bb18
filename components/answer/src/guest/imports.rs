//! The host as the logic sees it: a knowledge base, a language model and a guard.

use super::LOG_CONTEXT;
use super::bindings::bulkhead::answer::search;
use super::bindings::wasi::logging::logging::{Level, log};
use crate::answer::{Host, SearchError};
use crate::passage::Passage;
use bulkhead_ticket_text::guarding::Verdict;
use bulkhead_ticket_text::host;
use bulkhead_ticket_text::llm::{Failure, Question};

/// What the world imports.
pub struct Imports;

fn passage(found: search::Passage) -> Passage {
    let search::Passage { document, title, url, text, language, score, .. } = found;
    Passage { document, title, url, text, language, score }
}

/// Tells an operator the host's own words for what a clerk is told in fewer.
fn told(what: &str, why: &str) {
    log(Level::Warn, LOG_CONTEXT, &format!("{what}: {why}"));
}

impl Host for Imports {
    fn search(&self, text: &str, limit: u32, category: Option<&str>) -> Result<Vec<Passage>, SearchError> {
        let options =
            search::Options { limit, categories: category.map(str::to_owned).into_iter().collect() };
        match search::search(text, &options) {
            Ok(found) => Ok(found.into_iter().map(passage).collect()),
            Err(search::Error::Unavailable(why)) => {
                told("the knowledge base cannot be searched", &why);
                Err(SearchError::Unavailable)
            }
            Err(search::Error::Internal(why)) => Err(SearchError::Failed(why)),
        }
    }

    fn ask(&self, question: &Question) -> Result<String, Failure> {
        host::ask(question, "answer", None).map_err(|(failure, why)| {
            told("the language model has not written an answer", &why);
            failure
        })
    }

    fn guard(&self, text: &str, answer: Option<&str>) -> Verdict {
        let verdict = host::judge(text, answer);
        if let Verdict::Unavailable(why) = &verdict {
            told("the guard does not answer", why);
        }
        verdict
    }
}
