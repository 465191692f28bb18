//! An answer component: quotes the best passage of the host's knowledge base.
//!
//! Change `reply`, or ask the language model (`bulkhead:host/llm`), which the world imports too.

use bulkhead_guest::Log;

use bindings::bulkhead::answer::search::{self, Passage};
use bindings::exports::bulkhead::answer::answers::{
    Document, Error, Guest, Outcome, PromptVersion, Reply, Request, Settings,
};

/// Bindings generated from the WIT.
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "bulkhead:answer/answer", generate_all });

    use super::Component;
    export!(Component);
}

const LOG: Log = Log::new(env!("CARGO_PKG_NAME"));
/// Passages that are less relevant are not quoted.
const RELEVANT: f32 = 0.5;

struct Component;

/// Writes the reply from the best passage, if it is relevant.
fn reply(passages: Vec<Passage>) -> Reply {
    let best = passages.into_iter().next().filter(|passage| passage.score >= RELEVANT);
    let Some(Passage { title, url, text, language, score, .. }) = best else {
        return Reply {
            response: "There is no answer yet.".to_owned(),
            documents: Vec::new(),
            auto_publish: false,
            outcome: Outcome::None,
            reason: Some("no passage is relevant".to_owned()),
            score: None,
            language: None,
        };
    };
    let response = format!("{text} [1]");
    let document = Document { title, url: url.unwrap_or_default(), score, quote: text };
    Reply {
        response,
        documents: vec![document],
        auto_publish: false,
        outcome: Outcome::Answered,
        reason: None,
        score: Some(score),
        language,
    }
}

impl Guest for Component {
    fn answer(_settings: Settings, request: Request) -> Result<Reply, Error> {
        LOG.report_panics();
        if request.text.trim().is_empty() {
            return Err(Error::Internal("the ticket has no text".to_owned()));
        }
        let options = search::Options { limit: 1, categories: vec![request.category] };
        let passages = search::search(&request.text, &options).map_err(|error| match error {
            search::Error::Unavailable(text) => Error::Unavailable(text),
            search::Error::Internal(text) => Error::Internal(text),
        })?;
        Ok(reply(passages))
    }

    fn prompt_versions(_settings: Settings) -> Result<Vec<PromptVersion>, Error> {
        LOG.report_panics();
        Ok(Vec::new())
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        match reply(Vec::new()).outcome {
            Outcome::None => Ok(()),
            outcome => Err(format!("without a passage the outcome is {outcome:?}")),
        }
    }
}
