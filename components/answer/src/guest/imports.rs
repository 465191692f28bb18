//! The host as the logic sees it: a knowledge base, a language model and a guard.

use super::bindings::bulkhead::host::{guard, llm, search};
use crate::answer::{Host, SearchError};
use crate::passage::Passage;
use bulkhead_ticket_text::guarding::Verdict;
use bulkhead_ticket_text::llm::Question;

/// What the world imports.
pub struct Imports;

fn passage(found: search::Passage) -> Passage {
    let search::Passage { document, title, url, text, language, score, .. } = found;
    Passage { document, title, url, text, language, score }
}

impl Host for Imports {
    fn search(&self, text: &str, limit: u32, category: Option<&str>) -> Result<Vec<Passage>, SearchError> {
        let options =
            search::Options { limit, categories: category.map(str::to_owned).into_iter().collect() };
        match search::search(text, &options) {
            Ok(found) => Ok(found.into_iter().map(passage).collect()),
            Err(search::Error::Unavailable(why)) => Err(SearchError::Unavailable(why)),
            Err(search::Error::Internal(why)) => Err(SearchError::Failed(why)),
        }
    }

    fn ask(&self, question: &Question) -> Result<String, String> {
        let message = |role, content: &str| llm::Message { role, content: content.to_owned() };
        let request = llm::Request {
            messages: vec![
                message(llm::Role::System, &question.system),
                message(llm::Role::User, &question.user),
            ],
            schema: Some(llm::Schema { name: "answer".to_owned(), json: question.schema.clone() }),
            max_tokens: None,
        };
        let completed = llm::complete(&request).map_err(|error| match error {
            llm::Error::NotConfigured => "none is configured".to_owned(),
            llm::Error::Denied(reason)
            | llm::Error::OverBudget(reason)
            | llm::Error::Unavailable(reason)
            | llm::Error::InvalidAnswer(reason) => reason,
        });
        completed.map(|completion| completion.text)
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
            Err(guard::Error::Unavailable(reason)) => Verdict::Unavailable(reason),
        }
    }
}
