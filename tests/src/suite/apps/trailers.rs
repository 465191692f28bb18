//! Trailers of responses.

use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::*;

/// An app that answers with a body and the trailer `x-sum: 7`, which it declares.
fn summing() -> HttpGuest {
    let guest = HttpGuest::handling(
        "(local.set $at (call $new-fields))
         (drop (call $header (local.get $at) (i32.const 1024) (i32.const 7) (i32.const 1040) (i32.const 5)))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (local.get $at)))
         (local.set $stream (call $open (local.get $body)))
         (drop (call $write (local.get $stream) (i32.const 1060) (i32.const 4)))
         (local.set $at (call $new-fields))
         (drop (call $header (local.get $at) (i32.const 1040) (i32.const 5) (i32.const 1050) (i32.const 1)))
         (call $drop-stream (local.get $stream))
         (call $finish-body (local.get $body) (i32.const 1) (local.get $at) (i32.const 64))",
    );
    guest.with_data(1024, "trailer").with_data(1040, "x-sum").with_data(1050, "7").with_data(1060, "body")
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_are_passed_on_in_http2() {
    let host = hosting(&summing(), "").start().await;
    let io = TokioIo::new(TcpStream::connect(host.address()).await.unwrap());
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::get(host.url("/hello")).body(Empty::<hyper::body::Bytes>::new()).unwrap();
    let answer = client.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap();
    assert_eq!(body.trailers().unwrap()["x-sum"], "7");
    assert_eq!(body.to_bytes(), "body");
    drop(client);
    assert_calls(&host, "ok", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http1_client_gets_trailers_it_wants() {
    let host = hosting(&summing(), "").start().await;
    let mut socket = connected(&host, "GET /hello HTTP/1.1\nhost: x\nte: trailers\n\n").await;
    let answer = read_until(&mut socket, "x-sum: 7\r\n\r\n").await;
    assert!(answer.to_lowercase().contains("trailer: x-sum\r\n"), "{answer}");
    let mut socket = connected(&host, "GET /hello HTTP/1.1\nhost: x\n\n").await;
    let answer = read_until(&mut socket, "0\r\n\r\n").await;
    assert!(!answer.contains("x-sum: 7"), "{answer}");
    host.stop().await;
}
