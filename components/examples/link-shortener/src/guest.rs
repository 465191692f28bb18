//! Binds the component to the WIT world `example:links/links`.

use bulkhead_guest::Log;

use crate::{LONGEST_LINK, Link, LinkRequest};
use bindings::exports::wasi::http::incoming_handler::{Guest, IncomingRequest, ResponseOutparam};
use bindings::wasi::http::outgoing_handler;
use bindings::wasi::http::types::{
    ErrorCode, Fields, Method, OutgoingBody, OutgoingRequest, OutgoingResponse, Scheme,
};
use bindings::wasi::keyvalue::store;

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        path: "wit",
        world: "example:links/links",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// This component's log.
const LOG: Log = Log::new("link-shortener");
/// The store of the links, by their codes.
const STORE: &str = "links";
/// The first status that says that a link leads nowhere.
const CLIENT_ERROR: u16 = 400;

/// The component that implements the exports.
struct Component;

impl Guest for Component {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        LOG.report_panics();
        let path = request.path_with_query().unwrap_or_default();
        let answer = match LinkRequest::of(matches!(request.method(), Method::Post), &path) {
            LinkRequest::Shorten => shorten(&request),
            LinkRequest::Follow(code) => follow(code),
            LinkRequest::Other => Answer::text(404, "POST a link to /, or GET a code"),
        };
        respond(out, answer);
    }
}

/// What a client gets.
struct Answer {
    status: u16,
    location: Option<String>,
    text: String,
}

impl Answer {
    fn text(status: u16, text: &str) -> Self {
        Self { status, location: None, text: format!("{text}\n") }
    }
}

/// Keeps the link in the body of a request, and answers with its code.
fn shorten(request: &IncomingRequest) -> Answer {
    let Some(text) = body(request) else { return Answer::text(413, "the link is too long") };
    let Some(link) = Link::parse(&text) else { return Answer::text(400, "the body must be a link") };
    match status_of(&link) {
        Ok(status) if status < CLIENT_ERROR => {}
        Ok(status) => return Answer::text(422, &format!("the server of the link answers {status}")),
        Err(ErrorCode::HttpRequestDenied) => {
            return Answer::text(422, "links to this server are not allowed");
        }
        Err(_) => return Answer::text(422, "the server of the link does not answer"),
    }
    let code = link.code();
    let kept = store::open(STORE).and_then(|links| links.set(&code, link.text.as_bytes()));
    match kept {
        Ok(()) => Answer::text(201, &code),
        Err(_) => Answer::text(503, "the link cannot be kept"),
    }
}

/// Redirects to the link of a code.
fn follow(code: &str) -> Answer {
    let found = store::open(STORE).and_then(|links| links.get(code));
    match found.map(|link| link.and_then(|link| String::from_utf8(link).ok())) {
        Ok(Some(link)) => Answer { status: 302, location: Some(link), text: String::new() },
        Ok(None) => Answer::text(404, "no link has this code"),
        Err(_) => Answer::text(503, "the links cannot be read"),
    }
}

/// Returns the text of a request's body; `None` if it is too long for a link, or no text.
fn body(request: &IncomingRequest) -> Option<String> {
    let body = request.consume().ok()?;
    let stream = body.stream().ok()?;
    let mut bytes = Vec::new();
    // The end of the body is an error, too.
    while let Ok(piece) = stream.blocking_read(4096) {
        bytes.extend_from_slice(&piece);
        if bytes.len() > LONGEST_LINK {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Asks the server of a link for its head, and returns the status.
fn status_of(link: &Link<'_>) -> Result<u16, ErrorCode> {
    let request = OutgoingRequest::new(Fields::new());
    let scheme = if link.is_secure { Scheme::Https } else { Scheme::Http };
    let is_set = request.set_method(&Method::Head).is_ok()
        && request.set_scheme(Some(&scheme)).is_ok()
        && request.set_authority(Some(link.authority)).is_ok()
        && request.set_path_with_query(Some(&link.path_with_query())).is_ok();
    if !is_set {
        return Err(ErrorCode::HttpRequestUriInvalid);
    }
    let future = outgoing_handler::handle(request, None)?;
    future.subscribe().block();
    let response = future.get().and_then(Result::ok).ok_or(ErrorCode::InternalError(None))??;
    Ok(response.status())
}

fn respond(out: ResponseOutparam, answer: Answer) {
    let Answer { status, location, text } = answer;
    let location = location.map(|link| ("location".to_owned(), link.into_bytes()));
    let kind = ("content-type".to_owned(), b"text/plain".to_vec());
    let fields: Vec<_> = [kind].into_iter().chain(location).collect();
    let Ok(fields) = Fields::from_list(&fields) else { return };
    let response = OutgoingResponse::new(fields);
    if response.set_status_code(status).is_err() {
        return;
    }
    let Ok(body) = response.body() else { return };
    ResponseOutparam::set(out, Ok(response));
    if let Ok(stream) = body.write() {
        // An error means that the client has left.
        let _ = stream.blocking_write_and_flush(text.as_bytes());
    }
    let _ = OutgoingBody::finish(body, None);
}
