//! Tests of listeners on real connections: time limits, connection limits, drain and HTTP/2.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bodies;
mod eviction;

use std::sync::{Arc, Mutex};

use axum::{
    Extension, Json, Router,
    extract::State,
    http::HeaderMap,
    response::IntoResponse,
    routing::{get, post},
};
use bulkhead_config::server::Tls;
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
    task::JoinHandle,
    time::timeout,
};

use super::*;
use crate::{
    body::{self, BodyLimits},
    connection_limit::ConnectionLimit,
    forwarded::Proxies,
    heartbeat::Heartbeat,
    layers::{self, Layers},
    lifecycle::Lifecycle,
    listen,
    tls::Certificates,
};

const PATIENT: Duration = Duration::from_secs(60);
const IMPATIENT: Duration = Duration::from_millis(100);
const FOR_EVER: Duration = Duration::from_secs(86_400);
const BODY: BodyLimits = BodyLimits { bytes: 64, time: IMPATIENT, key: None };

#[derive(Default)]
struct Counts(Mutex<(Vec<ConnectionFault>, usize, usize)>);

impl ConnectionObserver for Counts {
    fn opened(&self) {
        self.0.lock().unwrap().1 += 1;
    }
    fn closed(&self) {
        self.0.lock().unwrap().2 += 1;
    }
    fn fault(&self, fault: ConnectionFault) {
        self.0.lock().unwrap().0.push(fault);
    }
}

/// Lets a test hold a handler.
#[derive(Default)]
struct Gate {
    entered: Notify,
    open: Notify,
}

impl Gate {
    /// Returns once a handler waits.
    async fn entered(&self) {
        timeout(PATIENT, self.entered.notified()).await.expect("a handler waits");
    }

    async fn pass(&self) -> &'static str {
        self.entered.notify_one();
        self.open.notified().await;
        "let through"
    }
}

struct Host {
    address: SocketAddr,
    lifecycle: Lifecycle,
    counts: Arc<Counts>,
    gate: Arc<Gate>,
    served: JoinHandle<()>,
}

impl Host {
    fn start(header_timeout: Duration, drain: Duration, connections: usize) -> Self {
        Self::keeping(header_timeout, header_timeout, drain, connections)
    }

    fn keeping(header_timeout: Duration, keep_alive: Duration, drain: Duration, connections: usize) -> Self {
        Self::serving(None, [header_timeout, keep_alive, drain], connections)
    }

    fn serving(tls: Option<Arc<Certificates>>, times: [Duration; 3], connections: usize) -> Self {
        let [header_timeout, keep_alive, drain] = times;
        let bound = listen::bind("server.listen", "127.0.0.1:0".parse().unwrap(), tls).unwrap();
        let (counts, gate) = (Arc::new(Counts::default()), Arc::new(Gate::default()));
        let address = bound.local_addr();
        let settings = ConnectionSettings {
            header_timeout,
            keep_alive,
            drain,
            connections: Arc::new(
                ConnectionLimit::new(connections, connections, [].into()).with_stall_timeout(IMPATIENT),
            ),
            observer: counts.clone(),
            heartbeat: Heartbeat::default(),
        };
        let lifecycle = Lifecycle::new();
        let router = router(Arc::clone(&gate));
        let served = tokio::spawn(serve(bound, router, settings, lifecycle.stopping()));
        Self { address, lifecycle, counts, gate, served }
    }

    fn patient() -> Self {
        Self::start(PATIENT, PATIENT, 100)
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends raw bytes and reads to the end of the connection.
    async fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut socket = self.connect().await;
        socket.write_all(bytes.as_ref()).await.unwrap();
        rest(&mut socket).await
    }

    /// Ends service and returns the faults; every connection that was opened must be closed.
    async fn stop(self) -> Vec<ConnectionFault> {
        self.lifecycle.stop();
        timeout(PATIENT * 2, self.served).await.expect("service ends").unwrap();
        let (faults, opened, closed) = std::mem::take(&mut *self.counts.0.lock().unwrap());
        assert_eq!(opened, closed);
        faults
    }
}

fn router(gate: Arc<Gate>) -> Router {
    let held = async |State(gate): State<Arc<Gate>>| gate.pass().await;
    let streamed = async |State(gate): State<Arc<Gate>>| {
        let chunk = stream::once(async move { Ok::<_, io::Error>(gate.pass().await) });
        axum::body::Body::from_stream(chunk)
    };
    let broken = async |State(gate): State<Arc<Gate>>| {
        let end = stream::once(async move { Err(io::Error::other(gate.pass().await)) });
        axum::body::Body::from_stream(stream::iter([Ok("begun")]).chain(end))
    };
    let echo = async |headers: HeaderMap, body: axum::body::Body| match body::read_json(&headers, body, BODY)
        .await
    {
        Ok(bytes) => bytes.into_response(),
        Err(error) => error.into_response(),
    };
    let peer = async |Extension(peer): Extension<PeerAddr>| Json(peer.0.ip().to_string());
    let router = Router::new()
        .route("/", get(async || "hello"))
        .route("/held", get(held))
        .route("/streamed", get(streamed))
        .route("/broken", get(broken))
        .route("/echo", post(echo))
        .route("/whole", post(async |_: axum::body::Bytes| "whole"))
        .route("/peer", get(peer))
        .with_state(gate);
    let layers = Layers {
        compression: true,
        proxies: Proxies::none(),
        observer: Arc::new(()),
        innermost: None,
        rest: None,
    };
    layers::with_layers(router, layers)
}

async fn rest(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    timeout(PATIENT, socket.read_to_end(&mut answer)).await.expect("the connection ends").unwrap();
    String::from_utf8(answer).unwrap()
}

/// Reads until the text appears.
async fn until(socket: &mut TcpStream, wanted: &str) -> String {
    let mut answer = String::new();
    while !answer.contains(wanted) {
        let mut buffer = [0; 1024];
        let read = timeout(PATIENT, socket.read(&mut buffer)).await.expect("more is sent").unwrap();
        assert_ne!(read, 0, "ended before {wanted:?}: {answer}");
        answer.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    answer
}

fn head(method: &str, path: &str, more: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{more}\r\n")
}

#[tokio::test]
async fn handlers_learn_the_peer() {
    let host = Host::patient();
    assert!(host.send(head("GET", "/peer", "")).await.ends_with("\"127.0.0.1\""));
    assert_eq!(host.stop().await, []);
}

#[tokio::test]
async fn silent_slow_and_idle_connections_are_closed() {
    let host = Host::start(IMPATIENT, PATIENT, 100);
    assert_eq!(host.send("").await, "", "nothing sent");
    assert_eq!(host.send("GET / HTTP/1.1\r\nhost: x\r\nx-slow: ").await, "", "half a head");
    assert_eq!(host.send("PRI * HTTP/2.0\r\n\r\nSM").await, "", "half a preface");
    assert_eq!(host.stop().await, [ConnectionFault::Timeout; 3]);

    let host = Host::start(IMPATIENT, PATIENT, 100);
    let idle = host.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(idle.ends_with("hello"), "answered first, then closed: {idle}");
    assert_eq!(host.stop().await, []);
}

#[tokio::test]
async fn slow_answers_outlive_the_header_timeout() {
    let host = Host::start(IMPATIENT, PATIENT, 100);
    for path in ["/held", "/streamed"] {
        let mut socket = host.connect().await;
        socket.write_all(head("GET", path, "").as_bytes()).await.unwrap();
        host.gate.entered().await;
        tokio::time::sleep(IMPATIENT * 15).await;
        host.gate.open.notify_one();
        assert!(rest(&mut socket).await.contains("let through"), "{path}");
    }
    assert_eq!(host.stop().await, []);
}

#[tokio::test]
async fn client_that_never_reads_is_closed() {
    let host = Host::start(IMPATIENT, PATIENT, 1);
    let mut deaf = host.connect().await;
    let request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    // Ends only when the host hangs up, since the client reads no answers.
    let written = async { while deaf.write_all(request.repeat(1000).as_bytes()).await.is_ok() {} };
    timeout(PATIENT, written).await.expect("the host hangs up");
    assert!(host.send(head("GET", "/", "")).await.ends_with("hello"));
    drop(deaf);
    host.stop().await;
}

#[tokio::test]
async fn what_is_not_http_is_counted() {
    let host = Host::patient();
    let huge = head("GET", "/", &format!("x-huge: {}\r\n", "x".repeat(100_000)));
    let many = head("GET", "/", &"x-many: x\r\n".repeat(200));
    for (sent, status, code) in [
        ("no HTTP at all\r\n\r\n", 400, "malformed_head"),
        (&huge, 431, "head_too_large"),
        (&many, 431, "head_too_large"),
    ] {
        let answer = host.send(sent).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("\r\nx-request-id: "), "{answer}");
        assert!(answer.contains(&format!("\r\n\r\n{{\"error\":\"{code}\"")), "{answer}");
    }
    assert_eq!(
        host.stop().await,
        [ConnectionFault::Malformed, ConnectionFault::TooLarge, ConnectionFault::TooLarge]
    );
}

/// The connection is closed after the answer although the client keeps it open, and is counted as malformed.
#[tokio::test]
async fn refused_heads_do_not_keep_connections() {
    let host = Host::start(IMPATIENT, PATIENT, 1);
    let mut refused = host.connect().await;
    refused.write_all(b"no HTTP at all\r\n\r\n").await.unwrap();
    assert!(rest(&mut refused).await.starts_with("HTTP/1.1 400 "));
    assert!(host.send(head("GET", "/", "")).await.ends_with("hello"), "there is room again");
    drop(refused);
    assert_eq!(host.stop().await, [ConnectionFault::Malformed]);
}

#[tokio::test]
async fn request_ids_are_echoed_or_made() {
    let host = Host::patient();
    let echoed = host.send(head("GET", "/", "x-request-id: mine-1\r\n")).await;
    assert!(echoed.contains("x-request-id: mine-1\r\n"), "{echoed}");
    let long = "x".repeat(65);
    for given in [String::new(), format!("x-request-id: {long}\r\n")] {
        let answer = host.send(head("GET", "/nowhere", &given)).await;
        let id = answer.split("x-request-id: ").nth(1).unwrap().split('\r').next().unwrap();
        assert!(uuid::Uuid::parse_str(id).is_ok(), "{answer}");
    }
    host.stop().await;
}

#[tokio::test]
async fn the_connection_cap_makes_others_wait() {
    let host = Host::start(PATIENT, PATIENT, 1);
    let mut first = host.connect().await;
    first.write_all(b"GET /held HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    host.gate.entered().await;
    let mut second = host.connect().await;
    second.write_all(head("GET", "/", "").as_bytes()).await.unwrap();
    let early = timeout(IMPATIENT, second.read_u8()).await;
    assert!(early.is_err(), "answered beyond the cap");
    host.gate.open.notify_one();
    until(&mut first, "let through").await;
    drop(first);
    assert!(rest(&mut second).await.ends_with("hello"));
    assert_eq!(host.stop().await, []);
}

#[tokio::test]
async fn silent_connection_ends_before_keep_alive() {
    let host = Host::keeping(IMPATIENT, FOR_EVER, PATIENT, 3);
    let mut kept = host.connect().await;
    kept.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    until(&mut kept, "hello").await;
    let silent = timeout(PATIENT, host.send("")).await;
    assert_eq!(silent.unwrap(), "");
    kept.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    until(&mut kept, "hello").await;
    drop(kept);
    host.stop().await;
}

#[tokio::test]
async fn drain_finishes_requests_and_refuses_connections() {
    let host = Host::patient();
    let mut idle = host.connect().await;
    idle.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    until(&mut idle, "hello").await;
    let mut busy = host.connect().await;
    busy.write_all(b"GET /held HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    host.gate.entered().await;
    host.lifecycle.stop();
    assert_eq!(rest(&mut idle).await, "", "an idle connection is closed");
    assert!(TcpStream::connect(host.address).await.is_err(), "a new connection is refused");
    host.gate.open.notify_one();
    let answer = rest(&mut busy).await;
    assert!(answer.contains("connection: close") && answer.ends_with("let through"), "{answer}");
    assert_eq!(host.stop().await, []);
}

#[tokio::test]
async fn a_drain_ends_in_time() {
    let host = Host::start(PATIENT, IMPATIENT, 100);
    let mut stuck = host.connect().await;
    stuck.write_all(b"GET /held HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    host.gate.entered().await;
    host.stop().await;
    assert_eq!(rest(&mut stuck).await, "");
}

#[tokio::test]
async fn http2_is_negotiated() {
    let host = Host::start(IMPATIENT, PATIENT, 100);
    let io = TokioIo::new(host.connect().await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get("http://x/").body(String::new()).unwrap();
    let response = client.send_request(request).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello");
    // The host ends an idle connection, although this side keeps it open.
    timeout(PATIENT, connection).await.expect("the connection ends").unwrap().unwrap();
    assert_eq!(host.stop().await, []);
}

#[tokio::test]
async fn http2_heads_have_http1_field_limit() {
    let host = Host::patient();
    let io = TokioIo::new(host.connect().await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    for (fields, cookies, status) in [(100, 0, 200_u16), (101, 0, 431), (99, 50, 200), (100, 1, 431)] {
        let mut request = hyper::Request::get("http://x/").body(String::new()).unwrap();
        for (name, times) in [("x-many", fields), ("cookie", cookies)] {
            for _ in 0..times {
                request.headers_mut().append(name, "x".parse().unwrap());
            }
        }
        let response = client.send_request(request).await.unwrap();
        assert_eq!(response.status(), status, "{fields} {cookies}");
        assert!(response.headers().contains_key("x-request-id"), "{fields} {cookies}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let begins = if status == 200 { "hello" } else { "{\"error\":\"head_too_large\"" };
        assert!(body.starts_with(begins.as_bytes()), "{fields} {cookies}: {body:?}");
    }
    assert_eq!(host.stop().await, []);
}

#[test]
fn only_missing_resources_pause_the_loop() {
    let of = |errno| io::Error::from_raw_os_error(rustix::io::Errno::raw_os_error(errno));
    assert!(concerns_one_connection(&of(rustix::io::Errno::CONNABORTED)));
    assert!(!concerns_one_connection(&of(rustix::io::Errno::MFILE)));
    assert!(!concerns_one_connection(&of(rustix::io::Errno::NFILE)));
}
