//! Binds the component to the WIT world `bulkhead:captcha/captcha`: exports, imports, and conversions between WIT
//! records and plain types.

mod convert;
mod imports;
mod memory;

use bulkhead_guest::Log;

use crate::error::Error;
use crate::{issue, self_test, verify};
use bindings::exports::bulkhead::captcha::challenges as wit;
use imports::Imports;

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        path: "../../wit/captcha",
        world: "bulkhead:captcha/captcha",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// This component's log.
const LOG: Log = Log::new("captcha");

/// The component that implements the exports.
struct Component;

impl wit::Guest for Component {
    fn issue(
        site: wit::Site,
        client: wit::Client,
        action: Option<String>,
    ) -> Result<wit::Issued, wit::Error> {
        LOG.report_panics();
        let issued = issue::issue(&Imports, &site.into(), &client.into(), action.as_deref())?;
        Ok(issued.into())
    }

    fn verify(
        site: wit::Site,
        client: wit::Client,
        payload: String,
        action: Option<String>,
    ) -> Result<wit::Verdict, wit::Error> {
        LOG.report_panics();
        let (site, client) = (site.into(), client.into());
        Ok(verify::verify(&Imports, &site, &client, &payload, action.as_deref())?.into())
    }

    fn invalidate(site: wit::Site, payload: String) -> Result<bool, wit::Error> {
        LOG.report_panics();
        Ok(verify::invalidate(&Imports, &site.into(), &payload)?)
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        self_test::self_test(&Imports)
    }
}
