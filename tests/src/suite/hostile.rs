//! A hostile guest for every limit. The macro makes a test of each entry, so none can be without one.

use bulkhead_tests::{
    TestHost,
    guests::Guest,
    host::{Builder, eventually},
};
use serde_json::{Value, json};

/// Limits tight enough to be met soon; the deadline is for the tests that set a shorter one.
const CONFIG: &str = r#"
    [captcha.sites.site]
    secret = "secret"
    [slots.captcha]
    memory_bytes = 1048576
    table_elements = 1000
    cpu_ms = 50
    deadline_ms = 20000
    response_bytes = 65536
    log_bytes_per_second = 4096
"#;

/// Settings by their dotted key, over those of [`CONFIG`].
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// How a call must end.
struct Expected {
    status: u16,
    outcome: &'static str,
}

const fn ends(status: u16, outcome: &'static str) -> Expected {
    Expected { status, outcome }
}

/// A host that serves a component.
fn hosting(component: Vec<u8>, settings: Settings<'_>) -> Builder {
    // Storms are to reach the sandbox.
    let circuit = ("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__CIRCUIT_FAILURES", "0");
    let builder = TestHost::builder().config(CONFIG).env(circuit.0, circuit.1).component(component);
    settings.iter().fold(builder, |builder, (key, value)| {
        builder.env(&format!("BULKHEAD_{}", key.to_uppercase().replace('.', "__")), value)
    })
}

async fn challenge(host: &TestHost) -> reqwest::Response {
    let body = json!({"siteKey": "site", "siteSecret": "secret", "clientAddress": "192.0.2.1"});
    host.client().post(host.url("/api/v1/captcha/challenge")).json(&body).send().await.unwrap()
}

/// Calls of the slot that have ended with `outcome`.
async fn calls(host: &TestHost, outcome: &str) -> f64 {
    host.metric(&format!("bulkhead_calls_total{{outcome=\"{outcome}\",slot=\"captcha\"}}")).await
}

/// The call ends as expected, is counted so, tells the client nothing, and leaves nothing behind.
async fn assert_contained(guest: Guest, settings: Settings<'_>, expected: Expected) {
    let host = hosting(guest.component(), settings).start().await;
    for round in 1..=2 {
        let answer = challenge(&host).await;
        let status = answer.status().as_u16();
        let retry_after = answer.headers().contains_key("retry-after");
        let text = answer.text().await.unwrap();
        assert_eq!(status, expected.status, "{text}");
        assert_eq!(retry_after, status == 503, "a 503 says when to ask again");
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(body["status"], expected.status, "{text}");
        for inside in ["wasm", "backtrace", "hostile", "0x", "unreachable"] {
            assert!(!text.contains(inside), "{text} tells of the inside");
        }
        let metrics = host.metrics().await;
        let counted = metrics.of("bulkhead_calls_total").into_iter().filter(|(_, value)| *value > 0.0);
        let counted: Vec<_> = counted.collect();
        assert_eq!(
            calls(&host, expected.outcome).await,
            f64::from(round),
            "{}: {counted:?}",
            expected.outcome
        );
    }
    host.stop().await;
}

/// The component may not answer: the public answer says only that, and readiness says why.
pub async fn refusal(component: Vec<u8>, settings: Settings<'_>) -> String {
    let host = hosting(component, settings).start().await;
    let answer = challenge(&host).await;
    assert_eq!(answer.status(), 503);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(
        body["message"],
        "slot captcha is empty: its component was refused; the host's log and /health/ready say why"
    );
    let ready = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    assert_eq!(ready.status(), 503, "a host with an empty slot is not ready");
    let ready: Value = ready.json().await.unwrap();
    let [failing] = ready["failing"].as_array().unwrap().as_slice() else { panic!("{ready}") };
    assert_eq!(failing["check"], "slot captcha");
    host.stop().await;
    failing["reason"].as_str().unwrap().to_owned()
}

macro_rules! hostile_guests {
    ($($(#[doc = $doc:literal])+ $name:ident: $expected:expr, $guest:expr
        $(, with { $($key:literal: $value:literal),+ })?;)*) => {
        $(
            $(#[doc = $doc])+
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                assert_contained($guest, &[$($(($key, $value)),+)?], $expected).await;
            }
        )*
    };
}

mod answers;
mod compiling;
mod excess;
mod held;
mod host_calls;
mod instantiation;
mod isolation;
mod limits;
mod lists;
mod neighbours;
mod pool_slots;
mod proof_of_work;
mod reuse;
mod storms;
mod stubs;
