//! Binds the component to the WIT world `bulkhead:triage/triage`.

mod convert;
mod imports;

use bulkhead_guest::Log;
use bulkhead_ticket_text::llm::Prompt;
use bulkhead_triage_configuration::Configuration;

use crate::prompts;
use crate::triage::{self, Policy};
use bindings::exports::bulkhead::triage::tickets as wit;
use imports::Imports;

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        path: "../../wit/triage",
        world: "bulkhead:triage/triage",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// This component's log.
const LOG: Log = Log::new("triage");

/// The component that implements the exports.
struct Component;

impl wit::Guest for Component {
    fn triage(settings: wit::Settings, text: String) -> Result<wit::Decision, wit::Error> {
        LOG.report_panics();
        let configuration = configuration(&settings)?;
        let imports = Imports::new(settings.classifier).map_err(wit::Error::Configuration)?;
        let policy = Policy { strategy: settings.strategy.into(), guarding: settings.guarding.into() };
        let decided = triage::triage(&imports, &configuration, policy, &text)?;
        Ok(decided.into())
    }

    fn prompt_versions(settings: wit::Settings) -> Result<Vec<wit::PromptVersion>, wit::Error> {
        LOG.report_panics();
        let head = settings.classifier.as_ref().ok().map(|classifier| classifier.head.as_str());
        let prompts = prompts::prompts(&configuration(&settings)?, head, settings.strategy.into());
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
    let configuration = Configuration::from_host(&settings.configuration);
    configuration.map_err(|invalid| wit::Error::Configuration(invalid.to_string()))
}
