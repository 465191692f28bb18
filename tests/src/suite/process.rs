//! The binary itself, as an operator starts it: command line, environment, signals, crashes, logs.

mod cache;
mod commands;
mod compile;
mod data_format;
mod drain;
pub mod faults;
mod first_run;
mod listeners;
mod logs;
mod one_file;
mod secrets;
mod systemd;
mod tls;

use bulkhead_tests::child::Bulkhead;
use serde_json::{Value, json};

use crate::captcha_http::solver;

/// One site whose challenges are solved at once.
pub const SITE: &str = r#"
    [services.embedding]
    enabled = false
    [services.status]
    enabled = false
    [services.tickets]
    enabled = false
    [captcha.sites.shop]
    secret = "the secret of the shop"
    algorithm = "SHA-256"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
"#;

pub fn envelope() -> Value {
    json!({ "siteKey": "shop", "siteSecret": "the secret of the shop", "clientAddress": "192.0.2.7" })
}

/// A challenge of the site [`SITE`], solved.
async fn solved(host: &Bulkhead) -> Value {
    let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!(status, 200, "{body}");
    solver::solve(&body["challenge"])
}

/// What `/verify` says of a payload.
async fn verdict(host: &Bulkhead, payload: &Value) -> Value {
    let mut body = envelope();
    body["payload"] = payload.clone();
    let (status, verdict) = host.post("/api/v1/captcha/verify", &body).await;
    assert_eq!(status, 200, "{verdict}");
    verdict
}

/// The checks that are degraded on a host that is ready.
pub async fn degraded(host: &Bulkhead) -> Vec<String> {
    let ready = host.json(&host.admin_url("/health/ready")).await;
    let checks = ready["degraded"].as_array().into_iter().flatten();
    checks.map(|check| check["check"].as_str().unwrap().to_owned()).collect()
}

fn valid() -> Value {
    json!({ "valid": true })
}

fn replayed() -> Value {
    json!({ "valid": false, "reason": "replayed" })
}
