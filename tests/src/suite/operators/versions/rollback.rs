//! A rollback within the watch neither loads nor compiles anything, and calls do not wait until it is recorded.

use bulkhead_tests::host::eventually;

use super::super::*;

const ROLLBACKS: &str = "bulkhead_rollouts_total{change=\"automatic-rollback\",slot=\"captcha\"}";

/// Takes every component away from where a version would be loaded from.
fn lose_components(host: &TestHost) {
    let folder = host.folder().join("data/slots/captcha");
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "wasm") {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_within_watch_loads_nothing() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let old = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let version = operator.push(answering('B', "").component()).await;
    operator.swap(&version).await;
    eventually("the last call is over", async || operator.stage(&old).await == "retired").await;
    lose_components(&host);
    let slot = operator.change("rollback", json!({})).await;
    assert_eq!((&slot["active"]["id"], &slot["kept"]), (&json!(old), &json!(true)));
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_after_watch_loads_again() {
    let host = hosting_a().env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__WATCH_SECONDS", "0").start().await;
    let operator = operator(&host);
    let version = operator.push(answering('B', "").component()).await;
    operator.swap(&version).await;
    lose_components(&host);
    let body = json!({ "generation": operator.generation().await });
    let (status, error) = operator.post("/rollback", &body).await;
    assert_eq!((status, error["error"].as_str()), (500, Some("storage")), "{error}");
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_predecessor_is_loaded_in_background() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    for letter in ['B', 'C'] {
        let version = operator.push(answering(letter, "").component()).await;
        operator.swap(&version).await;
    }
    operator.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'B');
    operator.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn circuit_with_loaded_predecessor_answers_no_503() {
    // The comparison of versions would not judge before the circuit does.
    let host = hosting_a().env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__MIN_CALLS", "1000000").start().await;
    let operator = operator(&host);
    let old = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let version = operator.push(trapping().component()).await;
    operator.swap(&version).await;
    lose_components(&host);
    for client in 0..20 {
        assert_eq!(ask(&host, client).await.status(), 500, "below the threshold nothing changes");
    }
    for client in 20..60 {
        assert_eq!(letter(&host, client).await, 'A');
    }
    eventually("the rollback is recorded", async || host.metric(ROLLBACKS).await == 1.0).await;
    assert_eq!(operator.slot().await["active"]["id"], old.as_str());
    assert_eq!(host.metric("bulkhead_circuit_refused_total{slot=\"captcha\"}").await, 0.0);
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    let versions = history["versions"].as_array().unwrap();
    let gone = versions.iter().find(|known| known["id"] == version.as_str()).unwrap();
    let moves = gone["moves"].as_array().unwrap();
    let reason = moves.iter().find(|step| step["stage"] == "draining").unwrap()["reason"].as_str().unwrap();
    assert_eq!(reason, "automatic rollback: 20 of its calls in a row failed");
    host.stop().await;
}

/// The candidate is not what does worse.
#[tokio::test(flavor = "multi_thread")]
async fn failing_active_goes_back_beside_shadow() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let [bad, shadow] = [trapping(), answering('C', "")].map(|guest| guest.component());
    let (bad, shadow) = (operator.push(bad).await, operator.push(shadow).await);
    operator.swap(&bad).await;
    operator.change("shadow", json!({ "version": shadow })).await;
    for client in 0..20 {
        assert_eq!(ask(&host, client).await.status(), 500);
    }
    eventually("it is rolled back", async || host.metric(ROLLBACKS).await == 1.0).await;
    assert_eq!(letter(&host, 1).await, 'A');
    assert_eq!(operator.slot().await["candidate"], Value::Null);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watched_predecessor_is_loaded_after_restart() {
    let host = hosting_a().start().await;
    let version = operator(&host).push(answering('B', "").component()).await;
    operator(&host).swap(&version).await;
    let third = operator(&host).push(trapping().component()).await;
    operator(&host).swap(&third).await;
    let folder = host.stop().await;
    let host = TestHost::builder()
        .config(&operator::tokens())
        .config(SITE)
        .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
        .folder(folder)
        .start()
        .await;
    for client in 0..20 {
        assert_eq!(ask(&host, client).await.status(), 500);
    }
    eventually("the version before takes over", async || {
        let answer = ask(&host, 1).await;
        answer.status() == 200
    })
    .await;
    eventually("the rollback is recorded", async || host.metric(ROLLBACKS).await == 1.0).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}
