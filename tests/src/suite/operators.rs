//! Versions come to answer, and go, without a call noticing.

mod access;
mod alerts;
mod components;
mod console;
mod durable;
mod earlier_state;
mod full_disk;
mod hosts;
mod packs;
mod proof;
mod registry;
mod reload;
mod rollout;
mod shadow;
mod starting;
mod versions;

use bulkhead_tests::{
    TestHost,
    guests::{Guest, answering},
    host::Builder,
    operator::{self, Operator},
};
use serde_json::{Value, json};

/// A site whose clients have the same keys at any hour.
const SITE: &str = r#"
    [services.embedding]
    enabled = false
    [captcha.sites.shop]
    secret = "shop-secret"
    compat = true
    difficulty_map = [{ min_visits = 1, cost = 1 }]
"#;

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

/// Calls of a slot, none of which ended in another way than well.
async fn good_calls(host: &TestHost, slot: &str) -> f64 {
    let (samples, own) = (host.metrics().await, format!("slot=\"{slot}\""));
    let good = format!("bulkhead_calls_total{{outcome=\"ok\",{own}}}");
    let all = samples.of("bulkhead_calls_total").into_iter();
    for (series, calls) in all.filter(|(series, _)| series.contains(&own) && *series != good) {
        assert_eq!(calls, 0.0, "{series}");
    }
    samples.value(&good)
}

/// The letter that a client is answered with.
pub async fn letter(host: &TestHost, client: u32) -> char {
    let answer = ask(host, client).await;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(status, 200, "{body}");
    body["challenge"]["letter"].as_str().unwrap().chars().next().unwrap()
}
