//! Binds the component to the WIT world `example:hello/hello`, which is that of any host of `wasi:http` 0.2.

use crate::TEXT;
use bindings::exports::wasi::http::incoming_handler::{Guest, IncomingRequest, ResponseOutparam};
use bindings::wasi::http::types::{Fields, OutgoingBody, OutgoingResponse};

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        path: "../wit",
        world: "example:hello/hello",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// The component that implements the exports.
struct Component;

impl Guest for Component {
    fn handle(_: IncomingRequest, out: ResponseOutparam) {
        let headers = [("content-type".to_owned(), b"text/plain".to_vec())];
        let Ok(headers) = Fields::from_list(&headers) else { return };
        let response = OutgoingResponse::new(headers);
        let Ok(body) = response.body() else { return };
        ResponseOutparam::set(out, Ok(response));
        if let Ok(stream) = body.write() {
            // An error means that the client has left.
            let _ = stream.blocking_write_and_flush(TEXT.as_bytes());
        }
        let _ = OutgoingBody::finish(body, None);
    }
}
