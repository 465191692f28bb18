//! Endless loops in one slot: calls of another slot are answered all the same.

use bulkhead_tests::operator::{self, Operator};
use tempfile::TempDir;

use super::*;
use crate::status;

const LOOPS: usize = 8;
/// Calls of the other slot while all loops run.
const CALLS: usize = 100;

/// Calls of the status slot that were answered.
async fn answered(host: &TestHost) -> f64 {
    host.metric("bulkhead_calls_total{outcome=\"ok\",slot=\"status\"}").await
}

/// More loops than processors. No time is measured: every call is answered within the lifetime of the loops.
#[tokio::test(flavor = "multi_thread")]
async fn loops_leave_other_slots_answering() {
    let settings = [
        ("slots.captcha.cpu_ms", "600000"),
        ("slots.captcha.deadline_ms", "600000"),
        ("slots.captcha.max_concurrent", "8"),
        ("services.embedding.enabled", "false"),
        ("services.tickets.enabled", "false"),
    ];
    let figures = TempDir::new().unwrap();
    let database = status::known_figures(figures.path()).await;
    let config = format!(
        "[status]\ndatabase = \"{database}\"\ntokens = [\"{}\"]\n{}",
        status::TOKEN,
        operator::tokens()
    );
    let looping = Guest::call("(loop $again (br $again)) unreachable").component();
    let host = hosting(looping, &settings).config(&config).start().await;
    let (before, deploy) = (answered(&host).await, Operator::new(&host.admin_url(""), operator::DEPLOY));
    let running = async || deploy.slot().await["active"]["in_flight"].as_u64().unwrap();

    // A client without a timeout, which would end the loops.
    let client = reqwest::Client::new();
    let body = json!({"siteKey": "site", "siteSecret": "secret", "clientAddress": "192.0.2.1"});
    let loops = (0..LOOPS).map(|_| {
        let call = client.post(host.url("/api/v1/captcha/challenge")).json(&body).send();
        tokio::spawn(async move { call.await.map(|answer| answer.status()) })
    });
    let loops: Vec<_> = loops.collect();
    eventually("all loops run", async || running().await == LOOPS as u64).await;

    for call in 1..=CALLS {
        let url = host.url(&format!("{}/status/metrics", status::BASE));
        let answer = host.client().get(url).header("x-token", status::TOKEN).send().await.unwrap();
        assert_eq!(answer.status(), 200, "call {call}");
        assert!(answer.text().await.unwrap().contains("zms_"), "call {call}");
        assert_eq!(running().await, LOOPS as u64, "after call {call}");
        // Else another loop could have come for one that ended.
        assert!(loops.iter().all(|call| !call.is_finished()), "after call {call}");
    }
    assert_eq!(answered(&host).await - before, CALLS as f64, "each of them reached the component");
    for call in loops {
        call.abort();
    }
    eventually("the loops are cancelled", async || calls(&host, "cancelled").await == LOOPS as f64).await;
    host.stop().await;
}
