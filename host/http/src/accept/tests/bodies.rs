//! Tests of request bodies on real connections.

use tokio::io::AsyncWriteExt;

use super::{Host, head, until};

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
