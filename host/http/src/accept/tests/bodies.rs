//! Tests of bodies on real connections.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{FOR_EVER, Host, IMPATIENT, PATIENT, head, rest, until};

fn posted(kind: &str, body: &str) -> String {
    let length = body.len();
    head("POST", "/echo", &format!("content-type: {kind}\r\ncontent-length: {length}\r\n")) + body
}

#[tokio::test]
async fn bodies_have_type_size_and_time_limits() {
    let host = Host::patient();
    assert!(host.send(posted("application/json", "{}")).await.ends_with("{}"));
    assert!(host.send(posted("text/plain", "{}")).await.starts_with("HTTP/1.1 415 "));
    assert!(host.send(posted("application/json", &"x".repeat(65))).await.starts_with("HTTP/1.1 413 "));
    let chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let chunk = format!("50\r\n{}\r\n", "x".repeat(80));
    assert!(host.send(head("POST", "/echo", chunked) + &chunk).await.starts_with("HTTP/1.1 413 "));
    let slow = "content-type: application/json\r\ncontent-length: 10\r\n";
    let answer = host.send(head("POST", "/echo", slow) + "{").await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("connection: close"), "{answer}");
    assert_eq!(host.stop().await, []);
}

#[tokio::test]
async fn answer_to_large_unread_body_arrives() {
    let host = Host::patient();
    for path in ["/echo", "/nowhere"] {
        let mut request =
            head("POST", path, "content-type: application/json\r\ncontent-length: 10000000\r\n");
        request.push_str(&"x".repeat(10_000_000));
        let answer = host.send(request).await;
        let status = if path == "/echo" { "413" } else { "404" };
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.ends_with(r#""}"#), "{answer}");
    }
    host.stop().await;
}

#[tokio::test]
async fn client_waiting_for_100_is_refused() {
    let host = Host::patient();
    let wait = "content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 65\r\n";
    let mut socket = host.connect().await;
    socket.write_all(head("POST", "/echo", wait).as_bytes()).await.unwrap();
    assert!(until(&mut socket, "\r\n").await.starts_with("HTTP/1.1 413 "));
    drop(socket);
    host.stop().await;
}

/// A connection that has sent a request of HTTP/1.0, where the end of the connection is the end of the answer's body.
async fn asked(host: &Host, path: &str) -> TcpStream {
    let mut socket = host.connect().await;
    socket.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    socket
}

/// Reads to the end of a connection, which is a reset.
async fn assert_reset(mut socket: TcpStream) {
    let mut bytes = Vec::new();
    let read = timeout(PATIENT, socket.read_to_end(&mut bytes)).await.expect("the connection ends");
    assert_eq!(read.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn broken_answer_resets_http1_0() {
    let host = Host::patient();
    let mut broken = asked(&host, "/broken").await;
    until(&mut broken, "begun").await;
    host.gate.open.notify_one();
    assert_reset(broken).await;
    for path in ["/", "/nowhere"] {
        assert!(rest(&mut asked(&host, path).await).await.starts_with("HTTP/1.0 "), "{path}");
    }
    host.gate.open.notify_one();
    let mut whole = asked(&host, "/streamed").await;
    assert!(rest(&mut whole).await.ends_with("let through"));
    host.stop().await;
}

#[tokio::test]
async fn cut_answer_resets_http1_0() {
    let host = Host::start(FOR_EVER, IMPATIENT, 100);
    let mut cut = asked(&host, "/broken").await;
    until(&mut cut, "begun").await;
    host.stop().await;
    assert_reset(cut).await;
}
