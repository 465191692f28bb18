//! Where a message ends: request smuggling, pipelining, chunks.

use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{
    MARKER, Victim,
    raw::{json_head, rest},
};

const VERIFY: &str = "/api/v1/captcha/verify";

/// A request that must never be answered.
fn smuggled() -> String {
    format!("GET /{MARKER} HTTP/1.1\r\nhost: x\r\n\r\n")
}

#[tokio::test]
async fn ambiguous_lengths_end_the_connection_unanswered() {
    let victim = Victim::start().await;
    let ambiguous = [
        "content-length: 2\r\ncontent-length: 50\r\n",
        "content-length: 2, 50\r\n",
        "content-length: -2\r\n",
        "content-length: +2\r\n",
        "content-length: 0x2\r\n",
        "content-length: 2 2\r\n",
        "content-length: \r\n",
        "content-length: 99999999999999999999999\r\n",
        "content-length : 2\r\n",
        "transfer-encoding: identity\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding : chunked\r\n",
        "transfer-encoding:\u{b}chunked\r\n",
        "x-folded: a\r\n chunked\r\n",
        " transfer-encoding: chunked\r\n",
    ];
    for fields in ambiguous {
        let answer = victim.ask(json_head(VERIFY, fields) + "{}" + &smuggled()).await;
        answer.assert_refused_head(400, "malformed_head");
    }
    victim.assert_faults("malformed", ambiguous.len()).await;
    victim.finish().await;
}

/// RFC 9112, section 6.3: the coding counts, and the connection ends.
#[tokio::test]
async fn coding_counts_before_a_second_length() {
    let victim = Victim::start().await;
    for fields in [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
    ] {
        let answer = victim.ask(json_head(VERIFY, fields) + "0\r\n\r\n" + &smuggled()).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid-json"), "{fields}");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    // HTTP/1.0 knows no coding.
    let old = json_head(VERIFY, "transfer-encoding: chunked\r\n").replace("HTTP/1.1", "HTTP/1.0");
    victim.ask(old + "0\r\n\r\n" + &smuggled()).await.assert_refused_head(400, "malformed_head");
    victim.finish().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let victim = Victim::start().await;
    let envelope = json!({"siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.1"});
    // Bodies that look like requests are bodies.
    let bodies = [envelope.to_string(), smuggled()];
    let mut bytes = String::new();
    for number in 0..60 {
        let more = format!("x-request-id: {number}\r\n");
        bytes += &match number % 3 {
            0 => format!("GET /actuator/health HTTP/1.1\r\nhost: x\r\n{more}\r\n"),
            kind => {
                let body = &bodies[kind - 1];
                let more = format!("{more}content-length: {}\r\n", body.len());
                json_head("/api/v1/captcha/challenge", &more) + body
            }
        };
    }
    bytes += "GET /end HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answers = victim.send(&bytes).await;
    assert_eq!(answers.len(), 61);
    for (number, answer) in answers[..60].iter().enumerate() {
        assert_eq!(answer.header("x-request-id"), Some(number.to_string().as_str()));
        let status = [200, 200, 400][number % 3];
        assert_eq!(answer.status, status, "{answer:?}");
    }
    assert_eq!(answers[60].status, 404);
    victim.finish().await;
}

/// What follows a request that ends the connection is not looked at.
#[tokio::test]
async fn nothing_is_answered_after_the_end() {
    let victim = Victim::start().await;
    let close = "GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned();
    assert_eq!(victim.ask(close + &smuggled()).await.status, 404);
    let old = "GET /nowhere HTTP/1.0\r\n\r\n".to_owned();
    assert_eq!(victim.ask(old + &smuggled()).await.status, 404);
    victim.finish().await;
}

#[tokio::test]
async fn broken_chunks_are_400() {
    let victim = Victim::start().await;
    let head = json_head(VERIFY, "transfer-encoding: chunked\r\n");
    let extension = format!("1;{}\r\n{{\r\n0\r\n\r\n", "x".repeat(100_000));
    for chunks in ["zz\r\n", "-1\r\n", "fffffffffffffffff\r\n", "2\r\n{}X\r\n", "\r\n", extension.as_str()] {
        let answer = victim.ask(head.clone() + chunks + &smuggled()).await;
        let shown = &chunks[..chunks.len().min(20)];
        assert_eq!((answer.status, answer.code().as_str()), (400, "body-malformed"), "{shown:?}");
    }
    // Trailers and short extensions are no offence.
    let trailers =
        head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n") + "2;a=b\r\n{}\r\n0\r\nx-late: 1\r\n\r\n";
    assert_eq!(victim.ask(trailers).await.code(), "invalid-field");
    victim.finish().await;
}

#[tokio::test]
async fn undeclared_body_is_cut_at_the_cap() {
    let victim = Victim::start().await;
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let body = json_head(VERIFY, "transfer-encoding: chunked\r\n") + &chunk.repeat(160) + "0\r\n\r\n";
    let answer = victim.ask(body).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "body-too-large"));
    assert_eq!(answer.header("connection"), Some("close"));
    victim.finish().await;
}

#[tokio::test]
async fn expectation_is_answered_before_the_body() {
    let victim = Victim::start().await;
    let large = json_head(VERIFY, "expect: 100-continue\r\ncontent-length: 10485760\r\n");
    let answer = victim.ask(large).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "body-too-large"));

    let mut socket = victim.connect().await;
    let small = json_head(VERIFY, "connection: close\r\nexpect: 100-continue\r\ncontent-length: 2\r\n");
    socket.write_all(small.as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    tokio::io::AsyncReadExt::read_exact(&mut socket, &mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"{}").await.unwrap();
    let answer = String::from_utf8(rest(&mut socket).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("invalid-field"), "{answer}");
    victim.finish().await;
}
