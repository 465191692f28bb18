//! How signals end it.

use bulkhead_tests::{
    child::{Bulkhead, Launch, PATIENCE},
    host::eventually,
    operator,
};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{SITE, envelope};

/// Only a second signal or the end of what is in flight may end such a host.
const PATIENT: &str = "server.drain_seconds = 3600\n";

/// A request in flight: its body is half sent.
struct Held {
    socket: TcpStream,
    rest: String,
}

impl Held {
    async fn begin(host: &Bulkhead) -> Self {
        let body = envelope().to_string();
        let (half, rest) = body.split_at(body.len() / 2);
        let head = format!(
            "POST /api/v1/captcha/challenge HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{half}",
            body.len()
        );
        let mut socket = TcpStream::connect(host.address()).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        eventually("the request is being answered", async || {
            host.metric("http_server_requests_active_seconds_count").await == 1.0
        })
        .await;
        Self { socket, rest: rest.to_owned() }
    }

    async fn answer(mut self) -> String {
        self.socket.write_all(self.rest.as_bytes()).await.unwrap();
        self.rest().await
    }

    async fn rest(&mut self) -> String {
        let mut answer = String::new();
        timeout(PATIENCE, self.socket.read_to_string(&mut answer))
            .await
            .expect("the connection ends")
            .unwrap();
        answer
    }
}

/// The host says that it drains, takes no new connection, and lives.
async fn assert_draining(host: &Bulkhead) {
    host.line("draining; a second signal stops the host at once").await;
    eventually("new connections are refused", async || TcpStream::connect(host.address()).await.is_err())
        .await;
    let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("draining"));
    assert_eq!(host.status(&host.admin_url("/health/live")).await, 200);
}

async fn start(folder: &TempDir) -> Bulkhead {
    Launch::serve_with(folder.path(), &format!("{PATIENT}{SITE}")).ready().await
}

#[tokio::test]
async fn signals_let_requests_in_flight_end() {
    let folder = TempDir::new().unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let mut host = start(&folder).await;
        let held = Held::begin(&host).await;
        host.signal(signal);
        assert_draining(&host).await;
        let answer = held.answer().await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("connection: close\r\n"), "{answer}");
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert!(body["challenge"]["signature"].is_string(), "{body}");
        assert_eq!(host.ended().await.code(), Some(0), "{}", host.text());
        assert_eq!(host.said("stopped").len(), 1, "{}", host.text());
    }
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let folder = TempDir::new().unwrap();
    let mut host = start(&folder).await;
    let mut held = Held::begin(&host).await;
    host.signal(Signal::TERM);
    assert_draining(&host).await;
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await.code(), Some(1), "{}", host.text());
    assert!(host.text().contains("bulkhead: SIGTERM while draining"), "{}", host.text());
    assert_eq!(held.rest().await, "", "the request is lost");
    // What was killed so is no worse than what crashed.
    start(&folder).await.stop().await;
}

#[tokio::test]
async fn the_drain_is_bounded() {
    let folder = TempDir::new().unwrap();
    let config = format!("server.drain_seconds = 0\n{SITE}");
    let mut host = Launch::serve_with(folder.path(), &config).ready().await;
    let mut held = Held::begin(&host).await;
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await.code(), Some(8), "{}", host.text());
    assert_eq!(host.said("drain time is over, closing connections").len(), 1, "{}", host.text());
    assert_eq!(host.said("drain time is over, closing connections")[0]["requests"], 1, "{}", host.text());
    assert_eq!(held.rest().await, "");
}

/// What operators wait for is lost as what clients wait for.
#[tokio::test]
async fn push_of_operator_is_cut_off() {
    let folder = TempDir::new().unwrap();
    let config = format!("{}{SITE}", operator::tokens());
    let mut host = Launch::serve_with(folder.path(), &config).ready().await;
    let admin = host.admin_url("");
    let mut push = TcpStream::connect(admin.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST /v1/slots/captcha/versions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/wasm\r\ncontent-length: 8\r\nexpect: 100-continue\r\n\r\n",
        operator::DEPLOY
    );
    push.write_all(head.as_bytes()).await.unwrap();
    // The host says so once it reads the body, which never comes.
    let mut answer = [0; 12];
    timeout(PATIENCE, push.read_exact(&mut answer)).await.expect("the host reads").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await.code(), Some(8), "{}", host.text());
    let lines = host.said("drain time is over, closing connections");
    assert_eq!(lines.len(), 1, "{}", host.text());
    assert_eq!(lines[0]["requests"], 1, "{}", host.text());
}

/// A connection without a request has nothing to lose.
#[tokio::test]
async fn idle_connections_are_no_loss() {
    let folder = TempDir::new().unwrap();
    let config = format!("server.drain_seconds = 0\n{SITE}");
    let mut host = Launch::serve_with(folder.path(), &config).ready().await;
    let mut idle = TcpStream::connect(host.address()).await.unwrap();
    idle.write_all(b"GET /actuator/health HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    timeout(PATIENCE, idle.read_exact(&mut answer)).await.expect("an answer").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let _silent = TcpStream::connect(host.address()).await.unwrap();
    let admin = host.admin_url("");
    let mut scraper = TcpStream::connect(admin.strip_prefix("http://").unwrap()).await.unwrap();
    scraper.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    timeout(PATIENCE, scraper.read_exact(&mut answer)).await.expect("an answer").unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await.code(), Some(0), "{}", host.text());
}
