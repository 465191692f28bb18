//! Versions come to answer, and go, without a call noticing.

mod access;
mod alerts;
mod anonymous;
mod audit;
mod built_in;
mod canary;
mod circuit;
mod compiling;
mod console;
mod diff;
mod durable;
mod folder;
mod full_disk;
mod hosts;
mod machine_code;
mod odd_names;
mod proof;
mod push;
mod refused;
mod refused_audit;
mod registry;
mod reload;
mod replay;
mod rollback;
mod rollout;
mod shadow;
mod swap;
mod unusable;
mod worlds;

use bulkhead_tests::{
    TestHost,
    guests::Guest,
    host::Builder,
    operator::{self, Operator},
};
use serde_json::{Value, json};

/// A site whose clients are told apart by the same keys at any hour.
const SITE: &str = r#"
    [services.embedding]
    enabled = false
    [captcha.sites.shop]
    secret = "shop-secret"
    compat = true
    difficulty_map = [{ min_visits = 1, cost = 1 }]
"#;

/// Answers every challenge with `letter`, after `body`.
pub fn answering(letter: char, body: &str) -> Guest {
    Guest::call(&format!(
        "{body} (i32.store (i32.const 8) (i32.const 1024)) (i32.store (i32.const 12) (i32.const 14)) i32.const 0"
    ))
    .with_fields(&format!(r#"(data (i32.const 1024) "{{\"letter\":\"{letter}\"}}")"#))
}

/// Traps on every call and passes its trial.
pub fn trapping() -> Guest {
    Guest::call("unreachable")
}

/// A host whose captcha slot has the component of letter A.
pub fn hosting_a() -> Builder {
    TestHost::builder()
        .config(&operator::tokens())
        .config(SITE)
        .env("CAPTCHA_HMAC_KEY", bulkhead_tests::host::HMAC_KEY)
        .component(answering('A', "").component())
}

fn operator(host: &TestHost) -> Operator {
    Operator::new(&host.admin_url(""), operator::DEPLOY)
}

pub async fn ask(host: &TestHost, client: u32) -> reqwest::Response {
    let address = std::net::Ipv4Addr::from_bits(0x0A00_0000 + client);
    let body =
        json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": address.to_string() });
    host.client().post(host.url("/api/v1/captcha/challenge")).json(&body).send().await.unwrap()
}

/// Waits, a minute at most, until a load that runs beside has been answered some more.
async fn answered_since(what: &str, is_more: impl Fn() -> bool) {
    let more = async {
        while !is_more() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), more).await.expect(what);
}

/// So many calls of a slot were answered well, and none ended in another way.
async fn assert_every_call_is_ok(host: &TestHost, slot: &str, expected: u64) {
    let samples = host.metrics().await;
    let own = samples.of("bulkhead_calls_total").into_iter();
    for (series, calls) in own.filter(|(series, _)| series.contains(&format!("slot=\"{slot}\""))) {
        let expected = if series.contains("outcome=\"ok\"") { expected as f64 } else { 0.0 };
        assert_eq!(calls, expected, "{series}");
    }
}

/// The letter that a client is answered with.
pub async fn letter(host: &TestHost, client: u32) -> char {
    let answer = ask(host, client).await;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(status, 200, "{body}");
    body["challenge"]["letter"].as_str().unwrap().chars().next().unwrap()
}
