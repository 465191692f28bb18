//! A candidate in shadow gets copies of the calls: nobody hears its answers, and it leaves no trace but a count.

use bulkhead::services::list::{self, CAPTCHA};
use bulkhead_tests::host::eventually;

use super::*;
use crate::captcha_http::solver;

/// The figures of the candidate in shadow.
async fn findings(operator: &Operator) -> Value {
    let (status, findings) = operator.get("/v1/slots/captcha/shadow").await;
    assert_eq!(status, 200, "{findings}");
    findings
}

/// Waits until so many copies have been compared.
async fn compared(operator: &Operator, copies: u64) -> Value {
    let all = async || {
        let findings = findings(operator).await;
        ["same", "different", "failed"].iter().map(|how| findings[how].as_u64().unwrap()).sum::<u64>()
    };
    eventually("the copies are compared", async || all().await >= copies).await;
    findings(operator).await
}

async fn in_shadow(operator: &Operator, component: Vec<u8>) -> String {
    let version = operator.push(component).await;
    let slot = operator.change("shadow", json!({ "version": version, "reason": "to see" })).await;
    assert_eq!((&slot["candidate"]["shadow"], &slot["candidate"]["weight"]), (&json!(true), &json!(0)));
    version
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_compared_and_never_served() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let (status, error) = operator.get("/v1/slots/captcha/shadow").await;
    assert_eq!((status, error["error"].as_str()), (409, Some("no-shadow")), "{error}");
    let version = in_shadow(&operator, answering('B', "").component()).await;
    for client in 0..5 {
        assert_eq!(letter(&host, client).await, 'A');
        compared(&operator, u64::from(client) + 1).await;
    }
    let found = findings(&operator).await;
    assert_eq!(
        (&found["version"], &found["different"], &found["same"]),
        (&json!(version), &json!(5), &json!(0))
    );
    let difference = &found["differences"][0];
    assert_eq!(difference["call"], "issue");
    assert_eq!(
        difference["members"],
        json!([{ "name": "document.letter", "live": "\"A\"", "shadow": "\"B\"" }])
    );
    let metric = "bulkhead_shadow_calls_total{result=\"different\",slot=\"captcha\"}";
    assert_eq!(host.metric(metric).await, 5.0);
    assert_eq!(operator.slot().await["candidate"]["calls"], 0, "it has answered nobody");

    // From shadow to a share of the calls, and back.
    operator.change("canary", json!({ "weight": 100 })).await;
    assert_eq!(letter(&host, 1).await, 'B');
    operator.change("shadow", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'A');
    operator.change("promote", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_survives_restart_until_rollback() {
    let host = hosting_a().start().await;
    let version = in_shadow(&operator(&host), answering('B', "").component()).await;
    let host = hosting_a().folder(host.stop().await).start().await;
    let operator = operator(&host);
    assert_eq!(letter(&host, 1).await, 'A');
    assert_eq!(compared(&operator, 1).await["different"], 1);
    operator.change("rollback", json!({})).await;
    assert_eq!(operator.get("/v1/slots/captcha/shadow").await.0, 409);
    eventually("its code is freed", async || operator.stage(&version).await == "retired").await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_traps_leave_live_calls_alone() {
    let host = hosting_a().env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__CIRCUIT_FAILURES", "3").start().await;
    let operator = operator(&host);
    in_shadow(&operator, trapping().component()).await;
    for client in 0..10 {
        assert_eq!(letter(&host, client).await, 'A');
        compared(&operator, u64::from(client) + 1).await;
    }
    let found = findings(&operator).await;
    assert_eq!(found["failed"], 10);
    let members = found["differences"][9]["members"].as_array().unwrap();
    assert_eq!(members[0], json!({ "name": "outcome", "live": "ok", "shadow": "trap" }));
    let slot = operator.slot().await;
    for which in ["active", "candidate"] {
        let version = &slot[which];
        assert_eq!((&version["failures"], &version["circuit_open"]), (&json!(0), &json!(false)), "{version}");
    }
    assert_eq!(host.metric("bulkhead_calls_total{outcome=\"trap\",slot=\"captcha\"}").await, 0.0);
    assert_eq!(operator.get("/v1/slots/captcha/logs").await.1["lines"], json!([]));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_shadow_permit_are_skipped() {
    let host = hosting_a()
        .env("BULKHEAD_SLOTS__CAPTCHA__SHADOW_CALLS", "1")
        .env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "2000")
        .env("BULKHEAD_SLOTS__CAPTCHA__DEADLINE_MS", "60000")
        .start()
        .await;
    let operator = operator(&host);
    in_shadow(&operator, Guest::call("(loop $again (br $again)) unreachable").component()).await;
    // One copy takes the place for two seconds of the processor.
    eventually("a call finds no place", async || {
        assert_eq!(letter(&host, 1).await, 'A');
        findings(&operator).await["skipped"] != 0
    })
    .await;
    assert!(compared(&operator, 1).await["failed"].as_u64().unwrap() >= 1);
    host.stop().await;
}

/// The host's answers to a live call are recorded for its shadow call, within a number of bytes.
#[tokio::test(flavor = "multi_thread")]
async fn recording_over_limit_skips_shadow_call() {
    // Each recorded answer takes a quarter of a KiB at least.
    let asking = "(local $left i32)
        (local.set $left (i32.const 6000))
        (loop $again
            (call $load (i32.const 1024) (i32.const 3) (i32.const 2048))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $again (local.get $left)))";
    let import = r#"(import "bulkhead:captcha/ledger@0.1.1" "load" (func $load (param i32 i32 i32)))"#;
    let host = hosting_a()
        .component(answering('A', asking).with_imports(import).component())
        .env("BULKHEAD_SLOTS__CAPTCHA__MEMORY_BYTES", "1048576")
        .env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "60000")
        .env("BULKHEAD_SLOTS__CAPTCHA__DEADLINE_MS", "60000")
        .start()
        .await;
    let operator = operator(&host);
    in_shadow(&operator, answering('B', "").component()).await;
    assert_eq!(letter(&host, 1).await, 'A');
    eventually("the copy is skipped", async || findings(&operator).await["skipped"] == 1).await;
    let found = findings(&operator).await;
    assert_eq!((&found["same"], &found["different"], &found["failed"]), (&json!(0), &json!(0), &json!(0)));
    host.stop().await;
}

/// The component that is built in, with another digest.
fn built_in() -> Vec<u8> {
    let wasm = list::component(CAPTCHA).unwrap();
    // A custom section called `x`.
    [wasm, &[0, 3, 1, b'x', 0]].concat()
}

/// A challenge gets dearer with the third visit, so that a visit that is counted twice shows.
const SHOP: &str = r#"
    [services.embedding]
    enabled = false
    [captcha.sites.shop]
    secret = "shop-secret"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }, { min_visits = 3, cost = 2 }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn shadow_writes_nothing_and_replays_reads() {
    let host = TestHost::builder()
        .config(&operator::tokens())
        .config(SHOP)
        .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
        .start()
        .await;
    let operator = operator(&host);
    in_shadow(&operator, built_in()).await;
    let mut copies = 0;
    let mut ask_for = async |path: &str, payload: Option<&Value>| -> Value {
        let mut body =
            json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.7" });
        if let Some(payload) = payload {
            body["payload"] = payload.clone();
        }
        let url = host.url(&format!("/api/v1/captcha/{path}"));
        let answer = host.client().post(url).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        copies += 1;
        compared(&operator, copies).await;
        answer.json().await.unwrap()
    };
    let mut challenges = Vec::new();
    for cost in [1, 1, 2] {
        let challenge = ask_for("challenge", None).await["challenge"].clone();
        assert_eq!(challenge["parameters"]["cost"], cost);
        challenges.push(challenge);
    }
    let payload = solver::solve(&challenges[0]);
    assert_eq!(ask_for("verify", Some(&payload)).await["valid"], true);
    assert_eq!(ask_for("verify", Some(&payload)).await["reason"], "replayed");
    let mut wrong = solver::solve(&challenges[1]);
    wrong["solution"]["derivedKey"] = json!("00".repeat(32));
    assert_eq!(ask_for("verify", Some(&wrong)).await["valid"], false);
    assert_eq!(ask_for("invalidate", Some(&payload)).await["invalidated"], false);
    let found = findings(&operator).await;
    assert_eq!((&found["same"], &found["differences"]), (&json!(copies), &json!([])), "{found}");
    host.stop().await;
}
