//! Apps: components of the world `wasi:http/proxy`.

mod access;
mod behaviour;
mod bodies;
mod hostile;
mod keyvalue;
mod link_shortener;
mod linking;
mod models;
mod outgoing;
pub mod programs;
mod reload;
mod rollout;
mod routing;
mod run;
pub mod sdks;
mod swaps;
mod trailers;

use std::time::Duration;

use bulkhead_tests::{
    TestHost,
    guests::HttpGuest,
    host::{Builder, eventually},
    operator,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Every service off but the one that serves apps.
const ALONE: &str = "[services]\nembedding.enabled = false\ntickets.enabled = false\nstatus.enabled = false\n\
                     captcha.enabled = false\n";

/// A host with one app at `/hello`, with these keys.
fn hosting(guest: &HttpGuest, keys: &str) -> Builder {
    let app = format!("{ALONE}{}[apps.hello]\npath_prefix = '/hello'\n{keys}\n", operator::tokens());
    TestHost::builder().config(&app).app("hello", guest.component())
}

/// Status and text of an answer.
async fn get(host: &TestHost, path: &str) -> (u16, String) {
    answer(host.client().get(host.url(path))).await
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// The code of an answer that the host gave in place of the app.
fn code(text: &str) -> String {
    let body: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    body["error"].as_str().unwrap().to_owned()
}

/// So many calls of the app end with `outcome`. They are counted after their answers.
async fn assert_calls(host: &TestHost, outcome: &str, expected: f64) {
    let series = format!("bulkhead_calls_total{{outcome=\"{outcome}\",slot=\"hello\"}}");
    eventually(&format!("{expected} calls with {outcome}"), async || host.metric(&series).await == expected)
        .await;
}

/// A connection that has sent `head`.
async fn connected(host: &TestHost, head: &str) -> TcpStream {
    let mut socket = TcpStream::connect(host.address()).await.unwrap();
    socket.write_all(head.replace('\n', "\r\n").as_bytes()).await.unwrap();
    socket
}

/// Reads until `wanted` has come, ten seconds at most.
async fn read_until(socket: &mut TcpStream, wanted: &str) -> String {
    let mut seen = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&seen).contains(wanted) {
            let mut bytes = [0; 1024];
            let read = socket.read(&mut bytes).await.unwrap();
            assert!(read > 0, "closed after {:?}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&bytes[..read]);
        }
    };
    tokio::time::timeout(Duration::from_secs(10), reading).await.unwrap();
    String::from_utf8_lossy(&seen).into_owned()
}

/// Reads to the end of a response, ten seconds at most: it is not a complete one.
async fn assert_reset(socket: &mut TcpStream) {
    let mut rest = Vec::new();
    // A reset is an error, which comes after what was read.
    let _ = tokio::time::timeout(Duration::from_secs(10), socket.read_to_end(&mut rest)).await.unwrap();
    let rest = String::from_utf8_lossy(&rest).into_owned();
    assert!(!rest.ends_with("0\r\n\r\n"), "{rest}");
}

/// What readiness says: the status, and the checks that fail or are degraded with their reasons.
async fn readiness(host: &TestHost) -> (u16, Vec<(String, String)>) {
    let (status, text) = answer(host.client().get(host.admin_url("/health/ready"))).await;
    let body: Value = serde_json::from_str(&text).unwrap();
    let of = |list: &str| body[list].as_array().cloned().unwrap_or_default();
    let checks = of("failing").into_iter().chain(of("degraded"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (status, checks.map(|check| (text(&check["check"]), text(&check["reason"]))).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn app_answers_under_its_prefix() {
    let host = hosting(&HttpGuest::answering(200, "hello"), "").start().await;
    for path in ["/hello", "/hello/", "/hello/a?b", "/hel%6Co"] {
        assert_eq!(get(&host, path).await, (200, "hello".to_owned()), "{path}");
    }
    for path in ["/", "/hellos", "/hello%2fa", "//hello", "/hello/%2e%2e/x"] {
        assert_eq!(get(&host, path).await.0, 404, "{path}");
    }
    assert_calls(&host, "ok", 4.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_without_component_is_reported_only() {
    let config = format!("{ALONE}[apps.hello]\npath_prefix = '/hello'\ncomponent = '/nowhere.wasm'\n");
    let host = TestHost::builder().config(&config).start().await;
    let (status, text) = get(&host, "/hello").await;
    assert_eq!((status, code(&text).as_str()), (503, "app-empty"));
    let (status, checks) = readiness(&host).await;
    assert_eq!(status, 200, "{checks:?}");
    let [(check, reason)] = &checks[..] else { panic!("{checks:?}") };
    assert_eq!(check, "slot hello");
    assert!(reason.contains("/nowhere.wasm"), "{reason}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_component_is_named_by_key() {
    let config = format!("{ALONE}[apps.hello]\npath_prefix = '/hello'\n");
    let host = TestHost::builder().config(&config).start().await;
    let (_, checks) = readiness(&host).await;
    let [(_, reason)] = &checks[..] else { panic!("{checks:?}") };
    assert!(reason.contains("set apps.hello.component, or push one"), "{reason}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_is_label_and_slot() {
    let host = hosting(&HttpGuest::answering(200, "hello"), "").start().await;
    get(&host, "/hello").await;
    let series =
        "bulkhead_http_requests_total{method=\"GET\",route=\"UNKNOWN\",service=\"hello\",status=\"200\"}";
    eventually("it is counted", async || host.metrics().await.find(series) == Some(1.0)).await;
    let operator = operator::Operator::new(&host.admin_url(""), operator::READ).of("hello");
    assert_eq!(operator.slot().await["world"], "wasi:http/proxy@0.2.12");
    host.stop().await;
}
