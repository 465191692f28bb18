//! A host that serves while its components are compiled.

use std::time::Duration;

use bulkhead::services::list;
use bulkhead_tests::{guests::HttpGuest, host::eventually};
use reqwest::RequestBuilder;
use tokio::time::timeout;

use super::{components::compiling::Gated, *};
use crate::status::BASE;

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Less than the smallest component of a service has, and more than a test's app.
const BYTES: usize = 100_000;
/// Every service that has a component, and an app.
const CONFIG: &str = "[services.embedding]\nenabled = false\n[sandbox]\ncache = false\ncompile_workers = 8\n\
    [apps.hello]\npath_prefix = '/hello'\n";
/// Where the answer of each service names its error, and what is there while the service is starting.
const ERRORS: [(&str, &str); 3] = [
    ("/code", "starting"),
    ("/detail/error", "starting"),
    ("/meta/message", "slot status is starting: its component is not ready yet"),
];

/// A request to each service.
fn requests(host: &TestHost) -> [RequestBuilder; 3] {
    let envelope = json!({ "siteKey": "demo", "siteSecret": "demo", "clientAddress": "192.0.2.1" });
    [
        host.client().post(host.url("/api/v1/captcha/challenge")).json(&envelope),
        host.client().post(host.url("/api/v1/triage")).json(&json!({ "text": "ahoy" })),
        host.client().get(host.url(&format!("{BASE}/status/"))).header("x-token", "demo"),
    ]
}

/// The checks that fail.
async fn failing(host: &TestHost) -> Vec<String> {
    let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    let ready: Value = ready.json().await.unwrap();
    let failing = ready["failing"].as_array().map(Vec::as_slice).unwrap_or_default();
    failing.iter().map(|check| check["check"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn service_answers_once_its_component_compiles() {
    let gated = Gated::above(BYTES);
    gated.close();
    let host = TestHost::builder()
        .config(&format!("demo = true\n{}{CONFIG}", operator::tokens()))
        .app("hello", HttpGuest::answering(200, "hello").component())
        .compile_program(&gated.program())
        .listen()
        .await;
    let hello = async || host.client().get(host.url("/hello")).send().await.unwrap();
    eventually("the app answers", async || {
        let answer = hello().await;
        let (status, retry_after) = (answer.status(), answer.headers().get("retry-after").cloned());
        if status == 200 {
            return true;
        }
        let body: Value = answer.json().await.unwrap();
        assert_eq!((status.as_u16(), &body["error"]), (503, &json!("starting")));
        assert_eq!(retry_after.unwrap(), "1");
        false
    })
    .await;
    for (request, (member, text)) in requests(&host).into_iter().zip(ERRORS) {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers()["retry-after"], "1");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body.pointer(member).and_then(Value::as_str), Some(text), "{body}");
    }
    let slots: Vec<String> = list::spec().slots().map(|slot| format!("slot {}", slot.id)).collect();
    eventually("readiness has the slots that are starting", async || {
        let failing = failing(&host).await;
        let (first, others) = failing.split_first().unwrap();
        first == "lifecycle" && slots.iter().all(|slot| others.contains(slot)) && others.len() == slots.len()
    })
    .await;
    let operator = Operator::new(&host.admin_url(""), operator::ADMIN);
    for (status, body) in
        [operator.get("/v1/slots/captcha").await, operator.post_at("/v1/config/reload", &json!({})).await]
    {
        assert_eq!((status, &body["error"]), (503, &json!("starting")), "{body}");
    }

    gated.open();
    let host = host.started().await;
    assert_eq!(failing(&host).await, [""; 0]);
    for (request, (member, text)) in requests(&host).into_iter().zip(ERRORS) {
        let body: Value = request.send().await.unwrap().json().await.unwrap();
        assert_ne!(body.pointer(member).and_then(Value::as_str), Some(text), "{body}");
    }
    let [captcha, _, status] = requests(&host);
    for request in [captcha, status] {
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    let (status, body) = operator.post_at("/v1/config/reload", &json!({})).await;
    assert_eq!(status, 200, "{body}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_stops_while_it_is_starting() {
    let gated = Gated::new();
    gated.close();
    let host = hosting_a().env("BULKHEAD_SANDBOX__CACHE", "false").compile_program(&gated.program());
    let host = host.listen().await;
    eventually("it compiles", async || gated.begun() > 0).await;
    assert_eq!(ask(&host, 1).await.status(), 503);
    timeout(PATIENCE, host.stop()).await.unwrap();
}

/// A slot whose component is refused is not starting any more.
#[tokio::test(flavor = "multi_thread")]
async fn refused_component_ends_the_start() {
    let host = hosting_a().component(b"no component".to_vec()).listen().await.started().await;
    let body: Value = ask(&host, 1).await.json().await.unwrap();
    assert_eq!(body["code"], "slot-empty", "{body}");
    assert_eq!(failing(&host).await, ["slot captcha"]);
    host.stop().await;
}
