//! A data disk that has become read-only: what needs no new data is served, and the rest is named.

use std::fs;

use bulkhead_tests::{
    child::Launch,
    guests::answering,
    operator::{self, Operator},
};
use serde_json::json;
use tempfile::TempDir;

use crate::process::{SITE, degraded, envelope, first_run, solved, valid, verdict};

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

#[tokio::test]
async fn read_only_appointments_are_read() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("data/appointments.sqlite");
    let name = file.to_str().unwrap();
    let made = Launch::bulkhead(&["demo", "appointments", "--rows", "10", "--file", name]).finish().await;
    assert!(made.succeeded(), "{}", made.stderr);
    // The two bytes of the header that say that a database has a write-ahead log.
    let mut bytes = fs::read(&file).unwrap();
    bytes[18..20].fill(2);
    fs::write(&file, bytes).unwrap();
    let services =
        "[services]\nembedding.enabled = false\ncaptcha.enabled = false\ntickets.enabled = false\n";
    let config =
        format!("{services}[status]\ndatabase = 'sqlite:{name}'\ntokens = ['a token of the monitoring']\n");
    let host = Launch::serve_with_read_only_data(folder.path(), &config).ready().await;
    let request = host.client().get(host.url("/terminvereinbarung/api/2/status/"));
    let response = request.header("x-token", "a token of the monitoring").send().await.unwrap();
    assert_eq!(response.status(), 200, "{}", host.text());
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(body["meta"]["error"], false, "{body}");
    host.stop().await;
}

#[tokio::test]
async fn read_only_knowledge_base_is_read() {
    let (inputs, data) = (first_run::inputs(), TempDir::new().unwrap());
    let [pages, model] = ["pages", "toy"].map(|name| inputs.path().join(name).display().to_string());
    let folder = data.path().to_str().unwrap();
    let import =
        Launch::bulkhead(&["kb", "import", &pages, "--model", &model, "--data-dir", folder]).finish().await;
    assert!(import.succeeded(), "{}", import.stderr);
    let info = async || {
        Launch::bulkhead_with_read_only(data.path(), &["kb", "info", "--data-dir", folder]).finish().await
    };
    let shown = info().await;
    assert!(shown.succeeded() && shown.stdout.contains("1 document"), "{}{}", shown.stdout, shown.stderr);
    fs::write(data.path().join("knowledge.sqlite-journal"), "changes").unwrap();
    let refused = info().await;
    assert!(
        refused.stderr.contains("knowledge.sqlite-journal has changes"),
        "{}{}",
        refused.stdout,
        refused.stderr
    );
}
