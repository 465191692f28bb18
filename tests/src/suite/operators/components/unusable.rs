//! Answers that the host cannot use count as failures: a version that gives them goes back, or is kept from calls.

use bulkhead_tests::{guests::StatusGuest, host::eventually};
use tempfile::TempDir;

use super::super::*;
use crate::status;

/// Most calls after which a version that fails on each of them must have gone.
const CALLS: u32 = 2000;

/// Texts of challenges that no client can use.
const NO_CHALLENGES: [&str; 6] = ["", "1", "null", "[{}]", r#"{"\ud800":1}"#, r#"{"a":"\ud800"}"#];

/// Answers every request for a challenge with a text.
fn issuing(text: &str) -> Vec<u8> {
    let data: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    Guest::call(&format!(
        "(i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const {})) i32.const 0",
        text.len()
    ))
    .with_fields(&format!("(data (i32.const 1024) \"{data}\")"))
    .component()
}

fn status_guest(data: &str) -> Vec<u8> {
    StatusGuest { data: data.into(), ..StatusGuest::default() }.component()
}

async fn report(host: &TestHost) -> reqwest::Response {
    let url = host.url(&format!("{}/status/", status::BASE));
    host.client().get(url).header("x-token", status::TOKEN).send().await.unwrap()
}

/// Calls until one is answered well again; the number of answers of 500 before it.
async fn failures(mut ask: impl AsyncFnMut() -> reqwest::Response) -> f64 {
    let mut failures = 0.0;
    for _ in 0..CALLS {
        let answer = ask().await;
        match answer.status().as_u16() {
            200 => return failures,
            500 => failures += 1.0,
            status => assert_eq!(status, 503),
        }
    }
    panic!("{CALLS} calls and no good answer");
}

pub async fn outcomes(host: &TestHost, slot: &str, outcome: &str) -> f64 {
    host.metric(&format!("bulkhead_calls_total{{outcome=\"{outcome}\",slot=\"{slot}\"}}")).await
}

/// The version before `bad` is active again, and each of its `failures` was counted as one.
async fn assert_rolled_back(host: &TestHost, slot: &'static str, failures: f64, bad: &str) {
    let metric = format!("bulkhead_rollouts_total{{change=\"automatic-rollback\",slot=\"{slot}\"}}");
    eventually("the rollback is counted", async || host.metric(&metric).await == 1.0).await;
    assert!(failures > 0.0);
    assert_eq!(outcomes(host, slot, "bad-answer").await, failures);
    let active = operator(host).of(slot).slot().await["active"]["id"].clone();
    assert_ne!(active, bad);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_challenges_are_bad_answers() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    for text in NO_CHALLENGES {
        let version = operator.push(issuing(text)).await;
        operator.swap(&version).await;
        let answer = ask(&host, 1).await;
        assert_eq!(answer.status(), 500, "{text}");
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "bad-answer", "{text}");
    }
    assert_eq!(outcomes(&host, "captcha", "bad-answer").await, NO_CHALLENGES.len() as f64);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_captcha_answers_roll_the_version_back() {
    let host = hosting_a().start().await;
    let bad = operator(&host).push(issuing("null")).await;
    operator(&host).swap(&bad).await;
    let failures = failures(async || ask(&host, 1).await).await;
    assert_eq!(letter(&host, 1).await, 'A');
    assert_rolled_back(&host, "captcha", failures, &bad).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_captcha_answers_open_the_circuit() {
    let host = hosting_a().component(issuing("1")).start().await;
    for client in 0..20 {
        let answer = ask(&host, client).await;
        assert_eq!(answer.status(), 500);
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], "bad-answer");
    }
    assert_eq!(operator(&host).slot().await["active"]["circuit_open"], true);
    let (_, logs) = operator(&host).get("/v1/slots/captcha/logs").await;
    let line = &logs["lines"][0];
    assert_eq!((&line["level"], &line["context"]), (&json!("error"), &json!("bad-answer")));
    assert_eq!(line["message"], "the challenge is not a readable JSON object");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_answers_in_shadow_are_failed_copies() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(issuing("1")).await;
    operator.change("shadow", json!({ "version": version })).await;
    assert_eq!(letter(&host, 1).await, 'A');
    let metric = "bulkhead_shadow_calls_total{result=\"failed\",slot=\"captcha\"}";
    eventually("the copy has failed", async || host.metric(metric).await == 1.0).await;
    let (_, findings) = operator.get("/v1/slots/captcha/shadow").await;
    let members = &findings["differences"][0]["members"];
    assert_eq!(members[0], json!({ "name": "outcome", "live": "ok", "shadow": "bad-answer" }));
    host.stop().await;
}

/// A host whose status slot has the component.
pub async fn status_host(folder: &TempDir, component: Vec<u8>) -> TestHost {
    let database = status::known_figures(folder.path()).await;
    let config = format!(
        "[services.embedding]\nenabled = false\n[services.captcha]\nenabled = false\n\
         [status]\ndatabase = \"{database}\"\ntokens = [\"{}\"]\n",
        status::TOKEN
    );
    TestHost::builder()
        .config(&operator::tokens())
        .config(&config)
        .component_of("status", component)
        .start()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_status_answers_roll_the_version_back() {
    let folder = TempDir::new().unwrap();
    let host = status_host(&folder, status_guest("{\"letter\":\"A\"}")).await;
    let operator = operator(&host).of("status");
    assert_eq!(report(&host).await.status(), 200);
    let bad = operator.push(status_guest("[1]")).await;
    operator.swap(&bad).await;
    let failures = failures(async || report(&host).await).await;
    let body: Value = report(&host).await.json().await.unwrap();
    assert_eq!(body["data"]["letter"], "A");
    assert_rolled_back(&host, "status", failures, &bad).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_status_answers_open_the_circuit() {
    let folder = TempDir::new().unwrap();
    // A name that is not a text: JSON by its grammar, and nothing that can be read.
    let host = status_host(&folder, status_guest(r#"{"\ud800":1}"#)).await;
    for _ in 0..20 {
        let answer = report(&host).await;
        assert_eq!(answer.status(), 500);
        assert_eq!(answer.json::<Value>().await.unwrap()["meta"]["error"], true);
    }
    assert_eq!(operator(&host).of("status").slot().await["active"]["circuit_open"], true);
    assert_eq!(outcomes(&host, "status", "bad-answer").await, 20.0);
    host.stop().await;
}
