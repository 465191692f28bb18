//! An HTTP component: greets, and echoes what is posted.

use std::sync::Once;

use bindings::exports::wasi::http::incoming_handler::Guest;
use bindings::wasi::cli::stderr;
use bindings::wasi::http::types::{
    Fields, IncomingBody, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use bindings::wasi::io::streams::{InputStream, OutputStream, StreamError};

/// Bindings generated from the WIT.
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "wasi:http/proxy", generate_all });

    use super::Component;
    export!(Component);
}

/// Bytes that a host takes at once.
const CHUNK: usize = 4096;

struct Component;

impl Guest for Component {
    fn handle(request: IncomingRequest, response_out: ResponseOutparam) {
        report_panics();
        let path = request.path_with_query().unwrap_or_default();
        if let Method::Post = request.method() {
            let out = respond(200, response_out);
            echo(&request, &out);
        } else if path.starts_with("/hello") {
            write(&respond(200, response_out), b"hello from Rust\n");
        } else {
            write(&respond(404, response_out), b"there is nothing here\n");
        }
    }
}

/// An answer whose body is being written. It ends where this is dropped.
struct Answer {
    /// Dropped before the body ends.
    stream: Option<OutputStream>,
    body: Option<OutgoingBody>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.stream = None;
        if let Some(body) = self.body.take() {
            // The error means that the client is gone.
            let _ = OutgoingBody::finish(body, None);
        }
    }
}

/// Sends the head of an answer, and returns its body.
fn respond(status: u16, response_out: ResponseOutparam) -> Answer {
    let kind = ("content-type".to_owned(), b"text/plain; charset=utf-8".to_vec());
    // Valid headers and codes are never refused.
    let headers = Fields::from_list(&[kind]).unwrap_or_else(|_| Fields::new());
    let response = OutgoingResponse::new(headers);
    let _ = response.set_status_code(status);
    let body = response.body().ok();
    ResponseOutparam::set(response_out, Ok(response));
    let stream = body.as_ref().and_then(|body| body.write().ok());
    Answer { stream, body }
}

fn write(answer: &Answer, text: &[u8]) {
    let Some(stream) = &answer.stream else { return };
    for chunk in text.chunks(CHUNK) {
        if stream.blocking_write_and_flush(chunk).is_err() {
            return;
        }
    }
}

/// Streams the body of a request back.
fn echo(request: &IncomingRequest, answer: &Answer) {
    let Ok(body) = request.consume() else { return };
    read(&body, |chunk| write(answer, chunk));
}

fn read(body: &IncomingBody, mut each: impl FnMut(&[u8])) {
    let Ok(stream) = body.stream() else { return };
    loop {
        match InputStream::blocking_read(&stream, CHUNK as u64) {
            Ok(chunk) => each(&chunk),
            Err(StreamError::Closed) => return,
            Err(error) => panic!("the request cannot be read: {error:?}"),
        }
    }
}

/// Installs a hook that writes the text of panics to standard error, which is the log.
fn report_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let text = format!("{info}\n");
            for chunk in text.as_bytes().chunks(CHUNK) {
                let _ = stderr::get_stderr().blocking_write_and_flush(chunk);
            }
        }));
    });
}
