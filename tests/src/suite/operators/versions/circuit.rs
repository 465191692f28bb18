//! A version with nothing before it that only fails is kept from most calls.

use bulkhead_tests::host::eventually;

use super::super::*;

#[tokio::test(flavor = "multi_thread")]
async fn trap_storm_opens_circuit_until_a_swap() {
    let host = hosting_a().component(trapping().component()).start().await;
    for client in 0..20 {
        assert_eq!(ask(&host, client).await.status(), 500);
    }
    let mut refused = ask(&host, 1).await;
    // A machine that is slow enough sees the first probes, each of whose failures doubles the wait for the next.
    for _ in 0..10 {
        if refused.status() != 500 {
            break;
        }
        refused = ask(&host, 1).await;
    }
    assert_eq!(refused.status(), 503);
    let seconds: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body["message"], format!("slot captcha: circuit open, retry in {seconds} s"));
    let operator = operator(&host);
    assert_eq!(operator.slot().await["active"]["circuit_open"], true);
    assert!(host.metric("bulkhead_circuit_refused_total{slot=\"captcha\"}").await >= 1.0);
    eventually("a probe is let through", async || ask(&host, 1).await.status() == 500).await;

    let version = operator.push(answering('B', "").component()).await;
    operator.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

/// A client that sends what costs too much must not close the slot for everybody else.
#[tokio::test(flavor = "multi_thread")]
async fn limited_calls_do_not_open_the_circuit() {
    let looping = Guest::call("(loop $again (br $again)) unreachable");
    let host = hosting_a()
        .component(looping.component())
        .env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "1")
        .env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__CIRCUIT_FAILURES", "3")
        .start()
        .await;
    for client in 0..10 {
        let answer = ask(&host, client).await;
        assert_eq!(answer.status(), 503);
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["code"], "cpu-budget", "{body}");
    }
    let operator = operator(&host);
    let active = operator.slot().await["active"].clone();
    assert_eq!((&active["failures"], &active["circuit_open"]), (&json!(10), &json!(false)));
    let (_, logs) = operator.get("/v1/slots/captcha/logs").await;
    let lines = logs["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 10);
    for line in lines {
        assert_eq!((&line["level"], &line["context"]), (&json!("warn"), &json!("cpu-budget")));
        assert_eq!(
            line["message"],
            "the call has used its 1 ms of processor time; raise slots.captcha.cpu_ms"
        );
    }
    host.stop().await;
}

/// Long before there are calls enough to compare it by.
#[tokio::test(flavor = "multi_thread")]
async fn candidate_goes_once_its_circuit_opens() {
    let host = hosting_a()
        .env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__CIRCUIT_FAILURES", "3")
        .env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__MIN_CALLS", "1000")
        .start()
        .await;
    let operator = operator(&host);
    let version = operator.push(trapping().component()).await;
    operator.change("canary", json!({ "version": version, "weight": 100 })).await;
    for client in 0..3 {
        assert_eq!(ask(&host, client).await.status(), 500);
    }
    eventually("the candidate is gone", async || operator.slot().await["candidate"].is_null()).await;
    assert_eq!(letter(&host, 1).await, 'A');
    let reason = super::canary::reason(&host, &version).await;
    assert_eq!(reason, "automatic rollback: 3 of its calls in a row failed");
    host.stop().await;
}
