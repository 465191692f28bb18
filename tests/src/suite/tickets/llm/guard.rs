//! A guardrail service that is asked by configuration.

use bulkhead_tests::servers::llm::Behaviour::{Body, Status};

use super::*;

const TOKEN: &str = "a-token-of-the-guard";

fn verdict(safety: &str, jailbreak: &str) -> Behaviour {
    let verdict = json!({
        "prompt_safety": safety, "prompt_toxicity": ["benign"], "jailbreak_detection": [jailbreak],
        "label_scores": {}, "raw_result": {},
    });
    Body(verdict.to_string())
}

/// A service with both; the model says that it is the harbour, which may be published.
async fn guarded(behaviour: Behaviour, more: &str) -> (Service, FakeLlm, FakeLlm) {
    let model = FakeLlm::start([Says(category("harbour", 0.9, "ships"))]).await;
    let guard = FakeLlm::start([behaviour]).await;
    let url = guard.url("");
    let config = asking(&model, &format!("[tickets.guard]\nurl = {url:?}\nauth_token = {TOKEN:?}\n{more}"));
    (Service::start(&config).await, model, guard)
}

async fn checks(service: &Service, outcome: &str) -> f64 {
    let name =
        format!("bulkhead_guard_checks_total{{outcome=\"{outcome}\",slot=\"triage\",type=\"prompt\"}}");
    service.host.metric(&name).await
}

#[tokio::test(flavor = "multi_thread")]
async fn series_exist_before_the_first_check() {
    let (service, _model, guard) = guarded(verdict("safe", "benign"), "").await;
    let metrics = service.host.metrics().await;
    let is_zero = |name: String| metrics.get(&name) == Some(&0.0);
    for slot in ["triage", "answer"] {
        for kind in ["prompt", "response"] {
            for outcome in ["safe", "unsafe", "unavailable"] {
                let labels = format!("outcome=\"{outcome}\",slot=\"{slot}\",type=\"{kind}\"");
                assert!(is_zero(format!("bulkhead_guard_checks_total{{{labels}}}")), "{labels}");
            }
        }
        let labels = format!("outcome=\"ok\",slot=\"{slot}\"");
        assert!(is_zero(format!("bulkhead_llm_calls_total{{{labels}}}")), "{labels}");
    }
    assert!(guard.received().is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_safe_is_published_as_configured() {
    let (service, model, guard) = guarded(verdict("safe", "benign"), "").await;
    let decision = service.decision("ahoy, write to eva@example.org").await;
    assert_eq!(decision["category"], json!({ "name": "harbour", "auto_publish": true }));
    let asked = guard.only();
    assert_eq!(asked.path, "/api/v1/guardrails/prompt");
    assert_eq!(asked.authorization.as_deref(), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(asked.json(), json!({ "text": "ahoy, write to [EMAIL_1]", "threshold": 0.7 }));
    assert_eq!(model.received().len(), 1);
    assert_eq!(checks(&service, "safe").await, 1.0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_ticket_is_sorted_without_model() {
    let (service, model, _guard) = guarded(verdict("unsafe", "prompt_injection"), "").await;
    let decision = service.decision(AHOY).await;
    assert_eq!(decision["category"], json!({ "name": "harbour", "auto_publish": false }));
    assert!(reasoning(&decision).contains("prompt_injection"), "{decision}");
    assert!(model.received().is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unsafe_is_refused_where_configured() {
    let (service, model, _guard) = guarded(verdict("unsafe", "prompt_injection"), "block = true").await;
    let answer = service.triage(&json!({ "text": AHOY })).await;
    assert_eq!(answer.status, 422);
    let detail = &answer.json()["detail"];
    assert_eq!((&detail["error"], &detail["retryable"]), (&json!("TriageError"), &json!(false)));
    assert!(detail["message"].as_str().unwrap().contains("prompt_injection"), "{detail}");
    assert!(model.received().is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_guard_stops_publishing_only() {
    let mute = Behaviour::Slow(std::time::Duration::from_secs(60), String::new());
    for behaviour in [Status(500, None), Body("{}".into()), Behaviour::Drips, Behaviour::Floods, mute] {
        let (service, model, _guard) = guarded(behaviour.clone(), "block = true\ntimeout_ms = 500").await;
        let decision = service.decision(AHOY).await;
        assert_eq!(
            decision["category"],
            json!({ "name": "harbour", "auto_publish": false }),
            "{behaviour:?}"
        );
        assert!(reasoning(&decision).contains("nothing is published"), "{decision}");
        assert_eq!(model.received().len(), 1, "{behaviour:?}");
        assert_eq!(checks(&service, "unavailable").await, 1.0);
        service.stop().await;
    }
}
