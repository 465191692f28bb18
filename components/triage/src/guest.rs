//! Binds the component to the WIT world `bulkhead:triage/triage`.

mod convert;
mod imports;

use std::{cell::RefCell, rc::Rc};

use bulkhead_guest::Log;
use bulkhead_ticket_text::llm::Prompt;
use bulkhead_triage_configuration::Configuration;

use crate::triage::prompts;
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
        let configuration = configuration(settings.configuration)?;
        let imports = Imports::new(settings.classifier).map_err(wit::Error::Configuration)?;
        let policy = Policy { strategy: settings.strategy.into(), guarding: settings.guarding.into() };
        let decided = triage::triage(&imports, &configuration, policy, &text)?;
        Ok(decided.into())
    }

    fn prompt_versions(settings: wit::Settings) -> Result<Vec<wit::PromptVersion>, wit::Error> {
        LOG.report_panics();
        let head = settings.classifier.as_ref().ok().map(|classifier| classifier.head.as_str());
        let configuration = configuration(settings.configuration)?;
        let prompts = prompts::prompts(&configuration, head, settings.strategy.into());
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

thread_local! {
    /// The configuration of the last call with its text: the next call of a reused instance has the same one.
    static LAST: RefCell<Option<(String, Rc<Configuration>)>> = const { RefCell::new(None) };
}

/// Reads the configuration of a call, unless the last call had the same.
fn configuration(json: String) -> Result<Rc<Configuration>, wit::Error> {
    LAST.with_borrow_mut(|last| {
        if let Some((known, configuration)) = &*last
            && *known == json
        {
            return Ok(Rc::clone(configuration));
        }
        let read = Configuration::from_host(&json);
        let read = Rc::new(read.map_err(|invalid| wit::Error::Configuration(invalid.to_string()))?);
        *last = Some((json, Rc::clone(&read)));
        Ok(read)
    })
}
