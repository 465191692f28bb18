//! Requests that apps send.

use bulkhead_tests::guests::OUTGOING;
use tokio::{net::TcpListener, task::JoinHandle};

use super::*;

/// Further imports of [`asking`].
pub(super) const IMPORTS: &[(&str, &str, &str)] = &[
    ("http/types", "[method]outgoing-request.set-scheme", "$by (param i32 i32 i32 i32 i32) (result i32)"),
    ("http/types", "[method]incoming-response.status", "$status (param i32) (result i32)"),
];

/// An app that sends a request over HTTP without TLS, and answers with `status`: the value is made from what is at address 272,
/// 0 for a response, and at 280, the response or the code of the error.
pub(super) fn asking(authority: &str, status: &str) -> HttpGuest {
    let length = authority.len();
    let guest = HttpGuest::handling(&format!(
        "(local.set $at (call $new-request (call $new-fields)))
         (drop (call $by (local.get $at) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
         (drop (call $to (local.get $at) (i32.const 1) (i32.const 1024) (i32.const {length})))
         (drop (call $for (local.get $at) (i32.const 1) (i32.const 1100) (i32.const 1)))
         (call $send (local.get $at) (i32.const 0) (i32.const 0) (i32.const 128))
         (if (i32.load8_u (i32.const 128)) (then unreachable))
         (local.set $at (i32.load (i32.const 136)))
         (call $block (call $subscribe (local.get $at)))
         (call $response (local.get $at) (i32.const 256))
         (local.set $body (call $respond (local.get $out) {status} (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))"
    ));
    guest.with_imports(OUTGOING).with_imports(IMPORTS).with_data(1024, authority).with_data(1100, "/")
}

/// Answers 200 if its request is denied by the code of `HTTP-request-denied`, which is 15.
pub(super) const IS_DENIED: &str =
    "(select (i32.const 200) (i32.const 400) (i32.eq (i32.load8_u (i32.const 280)) (i32.const 15)))";
/// Answers as it is answered.
pub(super) const AS_ANSWERED: &str = "(if (result i32) (i32.load8_u (i32.const 272))
    (then (i32.const 400)) (else (call $status (i32.load (i32.const 280)))))";

/// A server that answers one request with 207; the task returns the request's head.
async fn server() -> (String, JoinHandle<String>) {
    server_answering("HTTP/1.1 207 Multi-Status\r\ncontent-length: 0\r\n\r\n".to_owned()).await
}

/// A server that gives one request this answer; the task returns the request's head.
pub(super) async fn server_answering(answer: String) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let served = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let head = read_until(&mut socket, "\r\n\r\n").await;
        socket.write_all(answer.as_bytes()).await.unwrap();
        head
    });
    (authority, served)
}

#[tokio::test(flavor = "multi_thread")]
async fn ungranted_request_is_denied() {
    let host = hosting(&asking("example.org", IS_DENIED), "outgoing = ['https://example.org']").start().await;
    assert_eq!(get(&host, "/hello").await.0, 200, "it is not sent over HTTP where HTTPS is allowed");
    let operator = operator::Operator::new(&host.admin_url(""), operator::READ);
    let (_, log) = operator.get("/v1/slots/hello/logs").await;
    let log = log.to_string();
    assert!(
        log.contains("http://example.org may not be called") && log.contains("apps.hello.outgoing"),
        "{log}"
    );
    let denied = "bulkhead_outgoing_requests_total{outcome=\"denied\",slot=\"hello\"}";
    eventually("the request is counted", async || host.metric(denied).await == 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_origin_gets_requests_with_host_headers() {
    let (authority, served) = server().await;
    let keys = format!(
        "outgoing = [{{ origin = 'http://{authority}', headers = {{ authorization = 'Bearer swordfish' }} }}]"
    );
    let host = hosting(&asking(&authority, AS_ANSWERED), &keys).start().await;
    assert_eq!(get(&host, "/hello").await.0, 207);
    let head = served.await.unwrap().to_lowercase();
    assert!(head.starts_with("get / http/1.1\r\n"), "{head}");
    for field in [format!("host: {authority}"), "authorization: bearer swordfish".to_owned()] {
        assert!(head.contains(&format!("{field}\r\n")), "{head}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn run_allows_an_origin() {
    let (authority, served) = server().await;
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("hello.wasm");
    std::fs::write(&file, asking(&authority, AS_ANSWERED).component()).unwrap();
    let origin = format!("http://{authority}");
    let arguments = [
        "run",
        file.to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
        "--log-format",
        "json",
        "--allow",
        &origin,
    ];
    let launch = bulkhead_tests::child::Launch::bulkhead(&arguments);
    let host = launch.env("XDG_CACHE_HOME", folder.path().to_str().unwrap()).ready().await;
    assert_eq!(host.client().get(host.url("/")).send().await.unwrap().status(), 207);
    served.await.unwrap();
    host.stop().await;
}
