//! A version with nothing before it that only fails is kept from most calls.

use bulkhead_tests::host::eventually;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_storm_opens_the_circuit_until_a_good_version_answers() {
    let host = hosting_a().component(trapping().component()).start().await;
    for client in 0..20 {
        assert_eq!(ask(&host, client).await.status(), 500);
    }
    let mut refused = ask(&host, 1).await;
    // A machine that is slow enough sees the first probe, whose failure doubles the wait.
    while refused.status() == 500 {
        refused = ask(&host, 1).await;
    }
    assert_eq!(refused.status(), 503);
    let seconds: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let body: Value = refused.json().await.unwrap();
    assert!(body["message"].as_str().unwrap().contains("fails call after call"), "{body}");
    let operator = operator(&host);
    assert_eq!(operator.slot().await["active"]["circuit_open"], true);
    assert!(host.metric("bulkhead_circuit_refused_total{slot=\"captcha\"}").await >= 1.0);
    eventually("a probe is let through", async || ask(&host, 1).await.status() == 500).await;

    let version = operator.push(answering('B', "").component()).await;
    operator.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}
