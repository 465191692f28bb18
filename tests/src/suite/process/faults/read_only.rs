//! A data disk that has become read-only: what needs no new data is served, and the rest is named.

use std::fs;

use bulkhead_tests::{
    child::Launch,
    guests::answering,
    operator::{self, Operator},
};
use serde_json::json;
use tempfile::TempDir;

use crate::process::{SITE, degraded, envelope, solved, valid, verdict};

#[tokio::test]
async fn read_only_disk_serves_what_it_can() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.wasm");
    let components = ['A', 'B', 'C'].map(|letter| answering(letter, "").component());
    fs::write(&file, &components[0]).unwrap();
    let config = format!("{}[slots.captcha]\ncomponent = {file:?}\n{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let deploy = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let version = deploy.push(components[1].clone()).await;
    deploy.swap(&version).await;
    host.stop().await;

    let host = Launch::serve_with_read_only_data(folder.path(), &config).ready().await;
    let checks = degraded(&host).await;
    for wanted in ["data disk", "captcha ledger"] {
        assert!(checks.iter().any(|check| check == wanted), "{checks:?}");
    }
    let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!((status, &body["challenge"]["letter"]), (200, &json!("B")), "{body}");
    let deploy = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let (status, error) = deploy.try_push(components[2].clone()).await;
    assert!(status >= 500 && error["error"] == "storage", "{status} {error}");
    // It takes effect, and a restart undoes it.
    let slot = deploy.change("rollback", json!({})).await;
    assert_eq!(slot["kept"], false, "{slot}");
    let (_, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!(body["challenge"]["letter"], "A");
    host.stop().await;
}

#[tokio::test]
async fn empty_read_only_folder_is_served() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let config = format!("[captcha]\non_ledger_failure = \"allow\"\n{SITE}");
    let host = Launch::serve_with_read_only_data(folder.path(), &config).ready().await;
    let checks = degraded(&host).await;
    for wanted in ["data disk", "captcha key", "captcha ledger"] {
        assert!(checks.iter().any(|check| check == wanted), "{checks:?}");
    }
    let payload = solved(&host).await;
    assert_eq!(verdict(&host, &payload).await, valid());
    host.stop().await;
}

#[tokio::test]
async fn read_only_ledger_grants_nothing() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    let payload = solved(&host).await;
    host.stop().await;

    let read_only = Launch::serve_with_read_only_data(folder.path(), SITE).ready().await;
    let mut body = envelope();
    body["payload"] = payload.clone();
    let (status, answer) = read_only.post("/api/v1/captcha/verify", &body).await;
    assert_eq!(status, 503, "{answer}");
    assert!(degraded(&read_only).await.contains(&"captcha ledger".to_owned()));
    read_only.stop().await;

    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    assert_eq!(verdict(&host, &payload).await, valid());
    host.stop().await;
}
