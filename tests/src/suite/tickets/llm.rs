//! Triage by a language model: what it is shown, what its answers are worth, and what happens when it fails.

mod budget;
mod faults;
mod guard;
mod privacy;

use bulkhead_tests::servers::llm::{
    Behaviour::{self, Says},
    FakeLlm, category,
};

use super::*;

/// What the classifier decides on it: the harbour.
const AHOY: &str = "ahoy mate port";

/// `[tickets]` and `[tickets.llm]` for an endpoint; `more` goes below the latter.
fn asking(endpoint: &FakeLlm, more: &str) -> String {
    format!("triage_strategy = \"llm\"\n{}", llm_settings(endpoint, more))
}

/// A service and its endpoint, which does one thing after the other.
async fn service(behaviours: impl IntoIterator<Item = Behaviour>, more: &str) -> (Service, FakeLlm) {
    let endpoint = FakeLlm::start(behaviours).await;
    (Service::start(&asking(&endpoint, more)).await, endpoint)
}

fn reasoning(decision: &Value) -> &str {
    decision["reasoning"].as_str().unwrap()
}

/// Asserts that the classifier decided on [`AHOY`], and that the decision gives the reason.
fn assert_fallen_back(decision: &Value, reason: &str) {
    assert_eq!(decision["category"], json!({ "name": "harbour", "auto_publish": true }), "{decision}");
    assert_eq!(decision["action"]["name"], "fees");
    let told = reasoning(decision);
    assert!(told.starts_with("Decided without the language model (") && told.contains(reason), "{told}");
}

async fn calls(service: &Service, outcome: &str) -> f64 {
    let name = format!("bulkhead_llm_calls_total{{outcome=\"{outcome}\",slot=\"triage\"}}");
    service.host.metric(&name).await
}

#[tokio::test(flavor = "multi_thread")]
async fn model_chooses_and_configuration_decides() {
    let says = Says(category("greeting", 0.9, "the word hello"));
    let (service, endpoint) = service([says, Says(category("harbour", 0.8, "ships"))], "").await;
    let decision = service.decision(AHOY).await;
    assert_eq!(decision["category"], json!({ "name": "greeting", "auto_publish": false }));
    assert_eq!((&decision["action"]["type"], &decision["confidence"]), (&json!("AIAnswer"), &json!(0.9)));
    assert!(reasoning(&decision).ends_with("The language model's reason: the word hello"), "{decision}");

    let request = endpoint.only();
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.authorization.as_deref(), Some(format!("Bearer {LLM_KEY}").as_str()));
    let body = request.json();
    assert_eq!(
        (&body["model"], &body["temperature"], &body["stream"]),
        (&json!("small"), &json!(0.0), &json!(false))
    );
    let format = &body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(
        format["json_schema"]["schema"]["properties"]["category"]["enum"],
        json!(["other", "harbour", "greeting"])
    );
    assert_eq!(request.message("user"), json!({ "ticket": AHOY }).to_string());

    assert_eq!(
        service.decision("hello").await["category"],
        json!({ "name": "harbour", "auto_publish": true })
    );
    assert_eq!(calls(&service, "ok").await, 2.0);
    let tokens = |way| format!("bulkhead_llm_tokens_total{{direction=\"{way}\",slot=\"triage\"}}");
    assert_eq!(service.host.metric(&tokens("input")).await, 140.0);
    assert_eq!(service.host.metric(&tokens("output")).await, 60.0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_is_reported_with_its_version() {
    let (service, _endpoint) = service([Says(String::new())], "").await;
    let versions = service.get("/api/v1/prompt_versions").await.json();
    assert_eq!(
        versions,
        json!({
            "agent": null, "categories": null, "examples": null, "format": null, "judge": null, "role": null, "triage": 1
        })
    );
    service.stop().await;
}

/// Waiting is not computing: a model that takes longer than the slot's processor time costs none of it.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_model_is_not_charged() {
    let slow = Behaviour::Slow(std::time::Duration::from_millis(1500), category("greeting", 0.9, "slow"));
    let (service, _endpoint) = service([slow], "[slots.triage]\ncpu_ms = 1000").await;
    assert_eq!(service.decision(AHOY).await["category"]["name"], "greeting");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blank_text_asks_nobody() {
    let (service, endpoint) = service([Says(category("greeting", 0.9, ""))], "").await;
    assert_eq!(service.decision(" \n").await["category"]["name"], "other");
    assert!(endpoint.received().is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unlisted_endpoint_ends_the_start() {
    let endpoint = FakeLlm::start([Says(String::new())]).await;
    let config = |allow: &str| {
        let url = endpoint.url("/v1");
        format!(
            "[tickets]\ntriage_strategy = \"llm\"\n[tickets.llm]\nmodel = \"small\"\nurl = {url:?}\n{allow}"
        )
    };
    for allow in ["", "allow = []", "allow = [\"http://127.0.0.1:1/\"]", "allow = [\"https://127.0.0.1\"]"] {
        let refused = TestHost::builder().config(&config(allow)).try_start().await;
        let refused = refused.err().unwrap();
        assert!(
            refused.contains("tickets.llm.url") && refused.contains("tickets.llm.allow"),
            "{allow}: {refused}"
        );
    }
    let without = TestHost::builder().config("[tickets]\ntriage_strategy = \"llm\"").try_start().await;
    assert!(without.err().unwrap().contains("tickets.llm.url"));
    assert!(endpoint.received().is_empty());
}
