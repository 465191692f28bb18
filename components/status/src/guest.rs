//! Binds the component to the WIT world `bulkhead:status/status-with-findings`.

mod convert;

use bulkhead_guest::Log;
use bulkhead_status_figures::Figures;

use crate::error::Error;
use crate::{health, metrics, payload, self_test};
use bindings::bulkhead::status::appointments;
use bindings::exports::bulkhead::status::{findings as found, reports as wit};

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        path: "../../wit/status",
        world: "bulkhead:status/status-with-findings",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// This component's log.
const LOG: Log = Log::new("status");

/// The component that implements the exports.
struct Component;

impl wit::Guest for Component {
    fn status(options: wit::Options) -> Result<wit::Report, wit::Error> {
        LOG.report_panics();
        let figures = read(options.statistics)?;
        let (data, collected_at) = payload::payload(&figures, options.wire.into(), &options.version)?;
        Ok(wit::Report { data, collected_at })
    }

    fn health() -> Result<wit::Verdict, wit::Error> {
        LOG.report_panics();
        Ok(health::health(&read(true)?).into())
    }

    fn metrics(version: String) -> Result<Vec<wit::Family>, wit::Error> {
        LOG.report_panics();
        let families = metrics::families(&read(true)?, &version);
        Ok(families.into_iter().map(wit::Family::from).collect())
    }
}

impl found::Guest for Component {
    fn judge() -> Result<found::Judgement, String> {
        LOG.report_panics();
        Ok(health::health(&read(true).map_err(|error| error.to_string())?).into())
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        self_test::self_test()
    }
}

fn read(statistics: bool) -> Result<Figures, Error> {
    match appointments::read_partial(statistics) {
        Ok(figures) => Ok(figures.into()),
        Err(appointments::Error::Unavailable(text)) => Err(Error::Internal(text)),
    }
}
