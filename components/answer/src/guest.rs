//! Joins the logic to the WIT world `bulkhead:answer/answer`.

use std::sync::Once;

use crate::answer::{self, Host, Outcome, SearchError};
use crate::configuration::Configuration;
use crate::passage::Passage;
use crate::prompts;
use crate::references::Document;
use bindings::bulkhead::host::search;
use bindings::exports::bulkhead::answer::answers as wit;
use bindings::wasi::logging::logging::{Level, log};

/// Generated from the WIT, including the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        // Dependencies first.
        path: [
            "../../wit/deps/logging",
            "../../wit/deps/config",
            "../../wit/host",
            "../../wit/answer",
        ],
        world: "bulkhead:answer/answer",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// Context of everything that this component logs.
const LOG_CONTEXT: &str = "answer";

/// What the exports hang on.
struct Component;

/// The host as the logic sees it.
struct Imports;

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
}

fn passage(found: search::Passage) -> Passage {
    let search::Passage { document, title, url, text, language, score, .. } = found;
    Passage { document, title, url, text, language, score }
}

impl wit::Guest for Component {
    fn answer(settings: wit::Settings, request: wit::Request) -> Result<wit::Reply, wit::Error> {
        report_panics();
        let configuration = configuration(&settings)?;
        let wit::Request { text, category, action } = &request;
        let request = answer::Request { text, category, action };
        let reply = answer::answer(&Imports, &configuration, request)?;
        Ok(reply.into())
    }

    fn prompt_versions(settings: wit::Settings) -> Result<Vec<wit::PromptVersion>, wit::Error> {
        report_panics();
        let prompts = prompts::prompts(&configuration(&settings)?);
        let version =
            |(name, text): (&str, String)| wit::PromptVersion { name: name.to_owned(), version: None, text };
        Ok(prompts.into_iter().map(version).collect())
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        report_panics();
        crate::self_test::self_test()
    }
}

impl From<answer::Error> for wit::Error {
    fn from(error: answer::Error) -> Self {
        match error {
            answer::Error::UnknownAction(name) => Self::UnknownAction(name),
            answer::Error::Search(why) => Self::Unavailable(why),
        }
    }
}

impl From<Document> for wit::Document {
    fn from(document: Document) -> Self {
        let Document { title, url, score, quote } = document;
        Self { title, url, score, quote }
    }
}

impl From<answer::Reply> for wit::Reply {
    fn from(reply: answer::Reply) -> Self {
        Self {
            response: reply.response,
            documents: reply.documents.into_iter().map(Into::into).collect(),
            auto_publish: reply.auto_publish,
            outcome: match reply.outcome {
                Outcome::Answered => wit::Outcome::Answered,
                Outcome::Configured => wit::Outcome::Configured,
                Outcome::None => wit::Outcome::None,
            },
            reason: reply.reason,
            score: reply.score,
            language: reply.language,
        }
    }
}

fn configuration(settings: &wit::Settings) -> Result<Configuration, wit::Error> {
    Configuration::from_json(&settings.configuration).map_err(wit::Error::Configuration)
}

/// Sends panics to the host's log: a component has no standard error.
fn report_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| log(Level::Critical, LOG_CONTEXT, &info.to_string())));
    });
}
