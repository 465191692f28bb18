//! The host as the logic sees it: a knowledge base, a language model and a guard.

use super::LOG_CONTEXT;
use super::bindings::bulkhead::host::{guard, llm, search};
use super::bindings::wasi::logging::logging::{Level, log};
use crate::answer::{Host, SearchError, Unwritten};
use crate::passage::Passage;
use bulkhead_ticket_text::guarding::Verdict;
use bulkhead_ticket_text::llm::Question;

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

    fn ask(&self, question: &Question) -> Result<String, Unwritten> {
        let message = |role, content: &str| llm::Message { role, content: content.to_owned() };
        let request = llm::Request {
            messages: vec![
                message(llm::Role::System, &question.system),
                message(llm::Role::User, &question.user),
            ],
            schema: Some(llm::Schema { name: "answer".to_owned(), json: question.schema.clone() }),
            max_tokens: None,
        };
        let completed = llm::complete(&request);
        completed.map(|completion| completion.text).map_err(|error| {
            let (unwritten, why) = match error {
                llm::Error::NotConfigured => (Unwritten::NotConfigured, "none is configured".to_owned()),
                llm::Error::Denied(why) => (Unwritten::Denied, why),
                llm::Error::OverBudget(why) => (Unwritten::OverBudget, why),
                llm::Error::Unavailable(why) => (Unwritten::Silent, why),
                llm::Error::InvalidAnswer(why) => (Unwritten::Form, why),
            };
            told("the language model has not written an answer", &why);
            unwritten
        })
    }

    fn guard(&self, text: &str, answer: Option<&str>) -> Verdict {
        let judged = match answer {
            None => guard::check_prompt(text),
            Some(answer) => guard::check_response(text, answer),
        };
        match judged {
            Ok(verdict) if verdict.safe => Verdict::Safe,
            Ok(verdict) => Verdict::Unsafe(verdict.labels),
            Err(guard::Error::NotConfigured) => Verdict::Unguarded,
            Err(guard::Error::Unavailable(why)) => {
                told("the guard does not answer", &why);
                Verdict::Unavailable(why)
            }
        }
    }
}
