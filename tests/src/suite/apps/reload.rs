//! Apps that a reload adds, changes and removes.

use bulkhead_tests::host::CONFIG_FILE;
use serde_json::json;

use super::*;

/// Writes a component into the host's folder, and returns its path as TOML.
fn written(host: &TestHost, name: &str, guest: &HttpGuest) -> String {
    let path = host.folder().join(name);
    std::fs::write(&path, guest.component()).unwrap();
    format!("'{}'", path.display())
}

/// Replaces the configuration below the services and reloads it; the answer.
async fn reload(host: &TestHost, apps: &str) -> Value {
    std::fs::write(host.folder().join(CONFIG_FILE), format!("{ALONE}{}{apps}", operator::tokens())).unwrap();
    let operator = operator::Operator::new(&host.admin_url(""), operator::ADMIN);
    let (status, answer) = operator.post_at("/v1/config/reload", &json!({ "reason": "test" })).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

async fn start(apps: &str) -> TestHost {
    TestHost::builder().config(&format!("{ALONE}{}{apps}", operator::tokens())).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_come_and_go_without_restart() {
    let host = start("").await;
    for round in 1..=3 {
        let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
        let app = format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n");
        let answer = reload(&host, &app).await;
        assert_eq!(answer["restart"], json!([]), "in round {round}: {answer}");
        eventually("the app answers", async || get(&host, "/one").await == (200, "one".to_owned())).await;
        reload(&host, "").await;
        eventually("the app is gone", async || get(&host, "/one").await.0 == 404).await;
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_app_goes_on() {
    let host = start("").await;
    let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let app = |keys: &str| format!("[apps.one]\ncomponent = {component}\n{keys}\n");
    reload(&host, &app("path_prefix = '/one'")).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    reload(&host, &app("path_prefix = '/two'\napi_keys = ['swordfish']")).await;
    eventually("the app has moved", async || get(&host, "/two").await.0 == 401).await;
    assert_eq!(get(&host, "/one").await.0, 404);
    // Another slot is needed for these.
    reload(&host, &app("path_prefix = '/two'\nmemory_bytes = 1048576")).await;
    eventually("the app answers again", async || get(&host, "/two").await.0 == 200).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_over_ceiling_names_key_and_restart() {
    let host = start("[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n").await;
    let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    for (keys, key) in [
        ("max_concurrent = 4\nmemory_bytes = 1048576", "raise sandbox.calls and restart"),
        (
            "max_concurrent = 1\nshadow_calls = 1\nmemory_bytes = 2097152",
            "raise sandbox.memory_bytes and restart",
        ),
    ] {
        let sandbox = "[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n";
        reload(
            &host,
            &format!("{sandbox}[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n{keys}\n"),
        )
        .await;
        eventually("readiness names the key", async || {
            let (status, checks) = readiness(&host).await;
            status == 200 && checks.iter().any(|(check, reason)| check == "app one" && reason.contains(key))
        })
        .await;
    }
    let fits = "max_concurrent = 1\nshadow_calls = 1\nmemory_bytes = 1048576";
    let sandbox = "[sandbox]\ncalls = 4\nmemory_bytes = 1048576\n";
    reload(&host, &format!("{sandbox}[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n{fits}\n"))
        .await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    assert_eq!(readiness(&host).await, (200, Vec::new()));
    host.stop().await;
}
