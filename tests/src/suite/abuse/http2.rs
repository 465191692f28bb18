//! HTTP/2 without TLS, by those who know that it is spoken.

use bulkhead_tests::{TestHost, guests::Guest, host::eventually};
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

use super::{CONFIG, MARKER, Victim, assert_tells_nothing, raw::PATIENCE};

type Sender = SendRequest<Full<Bytes>>;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// The error code of a GOAWAY frame for a client that asks for too much.
const ENHANCE_YOUR_CALM: u32 = 0xb;

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
async fn http2_answers_equal_those_of_http1() {
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

/// A host whose component never answers, with places for some calls and a queue for the others.
async fn never_answering() -> Victim {
    let slot = "[slots.captcha]\ncpu_ms = 600000\ndeadline_ms = 600000\nmax_concurrent = 4\n\
                queue_length = 200\nqueue_wait_ms = 600000\n";
    let endless = Guest::call("(loop $again (br $again)) unreachable");
    let builder = TestHost::builder().config(CONFIG).config(slot);
    Victim(builder.component(endless.component()).start().await)
}

/// Two thousand streams, each reset while its call runs or waits: every call ends, and none is lost count of.
#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_reset_end_their_calls() {
    const ROUNDS: u32 = 20;
    const STREAMS: u32 = 100;
    let victim = never_answering().await;
    let of_slot = async |name: &str| victim.0.metric(&format!("{name}{{slot=\"captcha\"}}")).await;
    let cancelled = "bulkhead_calls_total{outcome=\"cancelled\",slot=\"captcha\"}";
    let body =
        json!({"siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.1"}).to_string();
    for round in 1..=ROUNDS {
        let sender = connect(&victim).await;
        let calls = join_all((0..STREAMS).map(|_| {
            let request =
                request("POST", "/api/v1/captcha/challenge").header("content-type", "application/json");
            sender.clone().send_request(request.body(Full::new(Bytes::from(body.clone()))).unwrap())
        }));
        let begun = eventually("every stream's call runs or waits", async || {
            of_slot("bulkhead_in_flight").await + of_slot("bulkhead_queue_depth").await == f64::from(STREAMS)
        });
        // What has not ended is dropped, which resets its stream.
        tokio::select! {
            answers = calls => panic!("the guest never answers: {answers:?}"),
            () = begun => {}
        }
        eventually("every call is cancelled", async || {
            victim.0.metric(cancelled).await == f64::from(STREAMS * round)
        })
        .await;
    }
    victim.assert_idle().await;
    let calls = victim.0.metrics().await;
    let calls = calls.of("bulkhead_calls_total").into_iter().filter(|(series, _)| series.contains("captcha"));
    assert_eq!(calls.map(|(_, calls)| calls).sum::<f64>(), f64::from(STREAMS * ROUNDS));
    victim.0.stop().await;
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The error code of the GOAWAY frame among `frames`.
fn goaway(mut frames: &[u8]) -> Option<u32> {
    while let Some((head, rest)) = frames.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (payload, rest) = rest.split_at_checked(length)?;
        if head[3] == 7 {
            return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
        }
        frames = rest;
    }
    None
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

/// Two thousand streams that are opened and reset at once, faster than any honest client: the host says why it ends the
/// connection, every time.
#[tokio::test]
async fn rapid_resets_end_the_connection() {
    const CONNECTIONS: u32 = 5;
    let victim = Victim::start().await;
    let mut bytes = [PREFACE, SETTINGS].concat();
    for stream in (1..4000).step_by(2) {
        // :method GET, :scheme http, :path /, :authority x; then RST_STREAM with CANCEL.
        bytes.extend(frame(1, 5, stream, &[0x82, 0x86, 0x84, 0x41, 0x01, b'x']));
        bytes.extend(frame(3, 0, stream, &[0, 0, 0, 8]));
    }
    for _ in 0..CONNECTIONS {
        let mut socket = victim.connect().await;
        let (mut reading, mut writing) = socket.split();
        let mut answer = Vec::new();
        // What the host has not read when it ends the connection cannot be written.
        let write = async { writing.write_all(&bytes).await.is_ok() };
        let (_, ended) = tokio::join!(write, timeout(PATIENCE, reading.read_to_end(&mut answer)));
        // Bytes that the host left unread make a reset of the end.
        let _ = ended.expect("the host ends the connection");
        assert_eq!(goaway(&answer), Some(ENHANCE_YOUR_CALM), "{answer:x?}");
    }
    eventually("every connection is counted", async || {
        victim.faults("broken").await == f64::from(CONNECTIONS)
    })
    .await;
    victim.assert_idle().await;
    victim.finish().await;
}

#[tokio::test]
async fn huge_heads_are_refused() {
    let victim = Victim::start().await;
    let mut sender = connect(&victim).await;
    let huge = request("GET", "/nowhere").header("x-huge", format!("{MARKER}{}", "x".repeat(100_000)));
    let refused = sender.send_request(huge.body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(refused.status(), 431);
    let fine = request("GET", "/nowhere").header("x-large", "x".repeat(10_000));
    let answer = sender.send_request(fine.body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(read(answer).await.0, 404);
    victim.finish().await;
}
