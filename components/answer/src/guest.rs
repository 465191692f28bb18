//! Binds the component to the WIT world `bulkhead:answer/answer`.

mod convert;
mod imports;

use bulkhead_answer_configuration::Configuration;
use bulkhead_guest::Log;
use bulkhead_ticket_text::llm::Prompt;

use crate::answer::{self, Policy};
use crate::prompts;
use bindings::exports::bulkhead::answer::answers as wit;
use imports::Imports;

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        path: "../../wit/answer",
        world: "bulkhead:answer/answer",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// This component's log.
const LOG: Log = Log::new("answer");

/// The component that implements the exports.
struct Component;

impl wit::Guest for Component {
    fn answer(settings: wit::Settings, request: wit::Request) -> Result<wit::Reply, wit::Error> {
        LOG.report_panics();
        let configuration = configuration(&settings)?;
        let wit::Request { text, category, action } = &request;
        let request = answer::Request { text, category, action };
        let policy = Policy { strategy: settings.strategy.into(), guarding: settings.guarding.into() };
        let reply = answer::answer(&Imports, &configuration, policy, request)?;
        Ok(reply.into())
    }

    fn prompt_versions(settings: wit::Settings) -> Result<Vec<wit::PromptVersion>, wit::Error> {
        LOG.report_panics();
        let prompts = prompts::prompts(&configuration(&settings)?, settings.strategy.into());
        let version = |prompt: Prompt| wit::PromptVersion {
            name: prompt.name.to_owned(),
            version: prompt.version,
            text: prompt.text,
        };
        Ok(prompts.into_iter().map(version).collect())
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        crate::self_test::self_test()
    }
}

fn configuration(settings: &wit::Settings) -> Result<Configuration, wit::Error> {
    Configuration::from_json(&settings.configuration).map_err(wit::Error::Configuration)
}
