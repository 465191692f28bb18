//! HTTP/2 without TLS, by those who know that it is spoken.

use std::time::Duration;

use futures_util::future::join_all;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::http2::{SendRequest, handshake},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::{MARKER, Victim, assert_tells_nothing};

type Sender = SendRequest<Full<Bytes>>;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Fails a test whose connection is never ended.
const PATIENCE: Duration = Duration::from_secs(60);

async fn connect(victim: &Victim) -> Sender {
    let io = TokioIo::new(victim.connect().await);
    let (sender, connection) = handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn request(method: &str, path: &str) -> hyper::http::request::Builder {
    Request::builder().method(method).uri(format!("http://x{path}"))
}

async fn read(answer: Response<Incoming>) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap();
    assert_tells_nothing(&text);
    (status, serde_json::from_str(&text).unwrap())
}

#[tokio::test]
async fn answers_are_the_same_as_over_http_1() {
    let victim = Victim::start().await;
    let sender = connect(&victim).await;
    let envelope =
        json!({"siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.1"}).to_string();
    let large = " ".repeat(10 << 20);
    for (method, path, body, status) in [
        ("POST", "/api/v1/captcha/challenge", envelope.as_str(), 200),
        ("POST", "/api/v1/captcha/challenge", "{", 400),
        ("POST", "/api/v1/captcha/verify", large.as_str(), 413),
        ("GET", "/api/v1/captcha/verify", "", 405),
        ("GET", "/swordfish", "", 404),
        ("BREW", "/swordfish", "", 404),
    ] {
        let request = request(method, path).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        let answer = sender.clone().send_request(request).await.unwrap();
        assert_eq!(read(answer).await.0, status, "{method} {path}");
    }
    drop(sender);
    victim.finish().await;
}

/// What was begun and given up a thousand times over leaves nothing running.
#[tokio::test]
async fn streams_that_are_given_up_leave_nothing_behind() {
    let victim = Victim::start().await;
    for _ in 0..10 {
        let sender = connect(&victim).await;
        let calls = (0..100).map(async |_| {
            let request =
                request("POST", "/api/v1/captcha/verify").header("content-type", "application/json");
            let request = request.body(Full::new(Bytes::from_static(b"{}"))).unwrap();
            let mut sender = sender.clone();
            // Long enough to be sent at times, never long enough to be sure of an answer.
            let _ = timeout(Duration::from_millis(1), sender.send_request(request)).await;
        });
        join_all(calls).await;
    }
    victim.assert_idle().await;
    victim.finish().await;
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Writes a connection's beginning, then the same bytes over and over; the host must hang up.
async fn flood(victim: &Victim, first: &[u8], again: &[u8]) {
    let mut socket = victim.connect().await;
    socket.write_all(&[PREFACE, SETTINGS, first].concat()).await.unwrap();
    let (mut reading, mut writing) = socket.split();
    let write = async { while writing.write_all(again).await.is_ok() {} };
    let read = async {
        let mut buffer = [0; 4096];
        while reading.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    };
    let ended = async {
        tokio::select! {
            () = write => {}
            () = read => {}
        }
    };
    timeout(PATIENCE, ended).await.expect("the host ends the connection");
}

#[tokio::test]
async fn floods_of_frames_end_the_connection() {
    let victim = Victim::start().await;
    // A head without end: HEADERS, then CONTINUATION frames of fields that are not indexed.
    let field = [&[0x00, 0x01][..], b"x", &[0x7f, 0x81, 0x7e], &[b'a'; 16_000]].concat();
    flood(&victim, &frame(1, 0, 1, &[0x82]), &frame(9, 0, 1, &field)).await;
    // Empty ones cost the sender nothing.
    flood(&victim, &frame(1, 0, 1, &[0x82]), &frame(9, 0, 1, &[]).repeat(1000)).await;
    // Frames that make no sense: data for no stream, a window of zero, a stream of the server's own.
    flood(&victim, &[], &frame(0, 0, 1, b"data")).await;
    flood(&victim, &[], &frame(8, 0, 0, &[0, 0, 0, 0])).await;
    flood(&victim, &[], &frame(1, 5, 2, &[0x82])).await;
    // A frame that is longer than allowed.
    flood(&victim, &[], &frame(4, 0, 0, &[0; 60_000])).await;
    victim.finish().await;
}

/// Streams that are opened and reset at once, faster than any honest client.
#[tokio::test]
async fn rapid_resets_leave_nothing_behind() {
    let victim = Victim::start().await;
    let mut socket = victim.connect().await;
    let mut bytes = [PREFACE, SETTINGS].concat();
    for stream in (1..=249_u8).step_by(2) {
        // :method GET, :scheme http, :path /, :authority x; then RST_STREAM with CANCEL.
        bytes.extend(frame(1, 5, stream, &[0x82, 0x86, 0x84, 0x41, 0x01, b'x']));
        bytes.extend(frame(3, 0, stream, &[0, 0, 0, 8]));
    }
    socket.write_all(&bytes).await.unwrap();
    // Whether this many are borne or not, the host goes on and nothing stays.
    drop(socket);
    victim.assert_idle().await;
    victim.finish().await;
}

#[tokio::test]
async fn huge_heads_are_refused() {
    let victim = Victim::start().await;
    let mut sender = connect(&victim).await;
    let huge = request("GET", "/nowhere").header("x-huge", format!("{MARKER}{}", "x".repeat(100_000)));
    let refused = match sender.send_request(huge.body(Full::default()).unwrap()).await {
        Ok(answer) => answer.status().as_u16() == 431,
        // The stream or the connection was ended instead.
        Err(_) => true,
    };
    assert!(refused);
    let mut sender = connect(&victim).await;
    let fine = request("GET", "/nowhere").header("x-large", "x".repeat(10_000));
    let answer = sender.send_request(fine.body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(read(answer).await.0, 404);
    victim.finish().await;
}
