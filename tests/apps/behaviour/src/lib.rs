//! An app that does what `wasi:http` allows and forbids, and answers with what has come of it.

use wasip2::{
    http::{
        outgoing_handler,
        types::{
            Fields, FutureIncomingResponse, HeaderError, IncomingBody, IncomingRequest, IncomingResponse,
            Method, OutgoingBody, OutgoingRequest, OutgoingResponse, RequestOptions, ResponseOutparam,
            Scheme,
        },
    },
    io::{
        poll::{Pollable, poll},
        streams::{InputStream, OutputStream, StreamError},
    },
};

/// Most bytes of a blocking write.
const PIECE: u64 = 4096;

struct App;

wasip2::http::proxy::export!(App);

impl wasip2::exports::http::incoming_handler::Guest for App {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let path = request.path_with_query().unwrap_or_default();
        match path.split('?').next().and_then(|path| path.rsplit('/').next()) {
            Some("seen") => answer(out, &seen(&request)),
            Some("fields") => answer(out, fields(&request)),
            Some("built") => answer(out, built()),
            Some("overrun") => overrun(out),
            Some("several") => answer(out, &several(&request)),
            Some("forwarded") => answer(out, &forwarded(&request).unwrap_or_else(|failed| failed)),
            _ => answer(out, &sent(&request).unwrap_or_else(|failed| failed)),
        }
    }
}

/// Gives a response whose body is a text.
fn answer(out: ResponseOutparam, text: &str) {
    let response = OutgoingResponse::new(Fields::new());
    let body = response.body().unwrap();
    ResponseOutparam::set(out, Ok(response));
    let stream = body.write().unwrap();
    for piece in text.as_bytes().chunks(PIECE as usize) {
        stream.blocking_write_and_flush(piece).unwrap();
    }
    drop(stream);
    OutgoingBody::finish(body, None).unwrap();
}

/// Returns what a request shows of itself: method, scheme, authority, target, and the names of its fields.
fn seen(request: &IncomingRequest) -> String {
    let (method, scheme) = (request.method(), request.scheme());
    let (authority, target) = (request.authority(), request.path_with_query());
    let names: Vec<String> = request.headers().entries().into_iter().map(|(name, _)| name).collect();
    format!("{method:?} {scheme:?} {authority:?} {target:?} {}", names.join(" "))
}

/// Checks what may be in a list of fields.
fn fields(request: &IncomingRequest) -> &'static str {
    let fields = Fields::new();
    let refusal = |name: &str, value: &[u8]| fields.append(name, value).unwrap_err();
    assert!(matches!(refusal("bad name", b"value"), HeaderError::InvalidSyntax));
    assert!(matches!(refusal("", b"value"), HeaderError::InvalidSyntax));
    assert!(matches!(refusal("name", b"bad\nvalue"), HeaderError::InvalidSyntax));
    for name in ["Connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"] {
        assert!(matches!(refusal(name, b"value"), HeaderError::Forbidden), "{name}");
    }
    assert!(Fields::from_list(&[("bad name".to_owned(), b"value".to_vec())]).is_err());
    assert!(Fields::from_list(&[("upgrade".to_owned(), b"value".to_vec())]).is_err());
    fields.append("X-Name", b"one").unwrap();
    fields.append("x-name", b"two").unwrap();
    assert_eq!(fields.get("x-NAME"), [b"one", b"two"], "names have no case");
    assert_eq!(fields.entries().len(), 2);
    let copy = fields.clone();
    fields.set("x-name", &[b"three".to_vec()]).unwrap();
    assert_eq!((fields.get("x-name").concat(), copy.get("x-name").len()), (b"three".to_vec(), 2));
    fields.delete("x-name").unwrap();
    assert!(!fields.has("x-name") && fields.get("x-name").is_empty());
    let received = request.headers();
    assert!(matches!(received.append("x-name", b"one"), Err(HeaderError::Immutable)));
    assert!(matches!(received.delete("x-name"), Err(HeaderError::Immutable)));
    received.clone().append("x-name", b"one").unwrap();
    "sound"
}

/// Builds a response and a request that are never sent, and checks what their parts may be.
fn built() -> &'static str {
    let response = OutgoingResponse::new(Fields::new());
    assert_eq!(response.status_code(), 200);
    let body = response.body().unwrap();
    assert!(response.body().is_err(), "a response has one body");
    let stream = body.write().unwrap();
    assert!(body.write().is_err(), "a body has one stream");
    stream.blocking_write_and_flush(b"for nobody").unwrap();
    drop(stream);
    let request = OutgoingRequest::new(Fields::new());
    assert!(request.set_method(&Method::Other("bad method".to_owned())).is_err());
    assert!(request.set_authority(Some("bad-\nhost")).is_err());
    assert!(request.set_authority(Some("many-ports:80:80:80")).is_err());
    assert!(request.set_scheme(Some(&Scheme::Other("bad\nscheme".to_owned()))).is_err());
    assert!(request.set_path_with_query(Some("/bad\npath")).is_err());
    assert!(matches!(request.method(), Method::Get));
    assert!(request.authority().is_none() && request.path_with_query().is_none());
    "sound"
}

/// Writes more at once than the stream of a response takes.
fn overrun(out: ResponseOutparam) {
    let response = OutgoingResponse::new(Fields::new());
    let body = response.body().unwrap();
    ResponseOutparam::set(out, Ok(response));
    let stream = body.write().unwrap();
    let room = loop {
        match stream.check_write().unwrap() {
            0 => stream.subscribe().block(),
            room => break room as usize,
        }
    };
    let _ = stream.write(&vec![b'x'; room + 1]);
}

/// Returns the first value of a field of a request.
fn field(request: &IncomingRequest, name: &str) -> Option<String> {
    let value = request.headers().get(name).into_iter().next()?;
    Some(String::from_utf8(value).unwrap())
}

/// Sends the request that the fields of another one describe, with the body of that one, and returns the status and the body
/// of the response, or what has failed.
fn sent(given: &IncomingRequest) -> Result<String, String> {
    let lengths = given.headers().get("x-length").into_iter();
    let fields: Vec<_> = lengths.map(|length| ("content-length".to_owned(), length)).collect();
    let request =
        OutgoingRequest::new(Fields::from_list(&fields).map_err(|error| format!("fields: {error:?}"))?);
    let method = match field(given, "x-method") {
        None => Method::Get,
        Some(method) if method == "POST" => Method::Post,
        Some(method) if method == "PUT" => Method::Put,
        Some(method) => Method::Other(method),
    };
    let scheme = field(given, "x-scheme").map_or(Scheme::Http, Scheme::Other);
    request.set_method(&method).map_err(|()| "method")?;
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    request.set_authority(field(given, "x-authority").as_deref()).map_err(|()| "authority")?;
    request.set_path_with_query(field(given, "x-path").as_deref()).map_err(|()| "path")?;
    let options = RequestOptions::new();
    let nanoseconds = |name: &str| field(given, name).map(|wait| wait.parse::<u64>().unwrap() * 1_000_000);
    options.set_connect_timeout(nanoseconds("x-connect-ms")).map_err(|()| "connect")?;
    options.set_first_byte_timeout(nanoseconds("x-first-byte-ms")).map_err(|()| "first byte")?;
    let body = request.body().map_err(|()| "body")?;
    let response =
        outgoing_handler::handle(request, Some(options)).map_err(|code| format!("handle: {code:?}"))?;
    let received = given.consume().map_err(|()| "consume")?;
    let copied = {
        let (from, to) = (received.stream().unwrap(), body.write().unwrap());
        copy(&from, &to)
    };
    OutgoingBody::finish(body, None).map_err(|code| format!("finish: {code:?}"))?;
    response.subscribe().block();
    // Where the request is not sent, the response says why, and nobody has read the body.
    let shown = shown(&response)?;
    copied.map_err(|error| format!("write: {error:?}"))?;
    Ok(shown)
}

/// Sends a request with these fields to the server that `x-authority` of another one names.
fn ask(given: &IncomingRequest, path: &str, fields: Fields) -> Result<FutureIncomingResponse, String> {
    let request = OutgoingRequest::new(fields);
    request.set_scheme(Some(&Scheme::Http)).map_err(|()| "scheme")?;
    request.set_authority(field(given, "x-authority").as_deref()).map_err(|()| "authority")?;
    request.set_path_with_query(Some(path)).map_err(|()| "path")?;
    outgoing_handler::handle(request, None).map_err(|code| format!("handle: {code:?}"))
}

/// Sends the fields of a response on in another request, and returns what has come of that.
fn forwarded(given: &IncomingRequest) -> Result<String, String> {
    let first = ask(given, "/", Fields::new())?;
    first.subscribe().block();
    let response = first.get().unwrap().unwrap().map_err(|code| format!("response: {code:?}"))?;
    let second = ask(given, "/forwarded", response.headers().clone())?;
    second.subscribe().block();
    shown(&second)
}

/// Sends a request to each of the paths that `x-paths` lists before it waits for a response, and returns all responses.
fn several(given: &IncomingRequest) -> String {
    let send = |path: &str| ask(given, path, Fields::new()).unwrap();
    let responses: Vec<_> = field(given, "x-paths").unwrap().split(' ').map(send).collect();
    let mut waiting: Vec<(usize, Pollable)> =
        responses.iter().map(FutureIncomingResponse::subscribe).enumerate().collect();
    let mut answers = vec![String::new(); responses.len()];
    while !waiting.is_empty() {
        let ready = poll(&waiting.iter().map(|(_, pollable)| pollable).collect::<Vec<_>>());
        for at in ready.into_iter().rev() {
            let (index, _) = waiting.remove(at as usize);
            answers[index] = shown(&responses[index]).unwrap();
        }
    }
    answers.join(", ")
}

/// Returns the status and the body of a response that has come, or the code of the error in its place.
fn shown(response: &FutureIncomingResponse) -> Result<String, String> {
    let response = response.get().unwrap().unwrap().map_err(|code| format!("response: {code:?}"))?;
    let (status, text) = (response.status(), text(response));
    Ok(format!("{status} {text}"))
}

/// Returns the body of a response.
fn text(response: IncomingResponse) -> String {
    let body: IncomingBody = response.consume().unwrap();
    let (stream, mut bytes) = (body.stream().unwrap(), Vec::new());
    loop {
        match stream.blocking_read(PIECE) {
            Ok(piece) => bytes.extend(piece),
            Err(StreamError::Closed) => break,
            Err(error) => panic!("{error:?}"),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Copies a stream to its end, piece by piece.
fn copy(from: &InputStream, to: &OutputStream) -> Result<(), StreamError> {
    loop {
        match from.blocking_read(PIECE) {
            Ok(piece) => to.blocking_write_and_flush(&piece)?,
            Err(StreamError::Closed) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
