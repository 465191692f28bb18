//! An answer component: gives the configured answer, or quotes the best passage of the host's knowledge base.
//!
//! The configuration has the actions of the file of `tickets.triage`. Change `quoted`, or ask the language model
//! (`bulkhead:host/llm`), which the world imports too.

use bulkhead_guest::Log;
use serde_json::{Value, json};

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

/// Returns a reply without documents, which a clerk reads.
fn reply(response: &str, outcome: Outcome, reason: Option<&str>) -> Reply {
    Reply {
        response: response.to_owned(),
        documents: Vec::new(),
        auto_publish: false,
        outcome,
        reason: reason.map(str::to_owned),
        score: None,
        language: None,
    }
}

/// Returns the reply of an action that needs no passages; none for one that is answered from them.
fn configured(configuration: &str, name: &str) -> Result<Option<Reply>, Error> {
    let configuration: Value =
        serde_json::from_str(configuration).map_err(|error| Error::Configuration(error.to_string()))?;
    let mut actions = configuration["actions"].as_array().into_iter().flatten();
    let action = actions.find(|action| action["name"] == name);
    let action = action.ok_or_else(|| Error::UnknownAction(name.to_owned()))?;
    Ok(match action["type"].as_str() {
        Some("AIAnswer") => None,
        Some("StaticAnswer") => {
            Some(reply(action["answer"].as_str().unwrap_or_default(), Outcome::Configured, None))
        }
        _ => Some(reply("A clerk reads it.", Outcome::None, Some("the action has no answer"))),
    })
}

/// Writes the reply from the best passage, if it is relevant.
fn quoted(passages: Vec<Passage>) -> Reply {
    let best = passages.into_iter().next().filter(|passage| passage.score >= RELEVANT);
    let Some(Passage { title, url, text, language, score, .. }) = best else {
        return reply("There is no answer yet.", Outcome::None, Some("no passage is relevant"));
    };
    let response = format!("{text} [1]");
    let document = Document { title, url: url.unwrap_or_default(), score, quote: text };
    Reply {
        documents: vec![document],
        score: Some(score),
        language,
        ..reply(&response, Outcome::Answered, None)
    }
}

impl Guest for Component {
    fn answer(settings: Settings, request: Request) -> Result<Reply, Error> {
        LOG.report_panics();
        if request.text.trim().is_empty() {
            return Err(Error::Internal("the ticket has no text".to_owned()));
        }
        if let Some(reply) = configured(&settings.configuration, &request.action)? {
            return Ok(reply);
        }
        let options = search::Options { limit: 1, categories: vec![request.category] };
        let passages = search::search(&request.text, &options).map_err(|error| match error {
            search::Error::Unavailable(text) => Error::Unavailable(text),
            search::Error::Internal(text) => Error::Internal(text),
        })?;
        Ok(quoted(passages))
    }

    fn prompt_versions(_settings: Settings) -> Result<Vec<PromptVersion>, Error> {
        LOG.report_panics();
        Ok(Vec::new())
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        let action = json!({ "name": "fees", "type": "StaticAnswer", "answer": "It costs 70 EUR." });
        let fees = configured(&json!({ "actions": [action] }).to_string(), "fees");
        match (quoted(Vec::new()).outcome, fees) {
            (Outcome::None, Ok(Some(fees))) if fees.response == "It costs 70 EUR." => Ok(()),
            other => Err(format!("without a passage, and of a configured answer: {other:?}")),
        }
    }
}
