//! A guardrail service that judges tickets and the answers to them.

use bulkhead_tests::servers::llm::{
    Behaviour::{self, Body, Drips, Says, Slow, Status},
    FakeLlm, sentences,
};

use super::*;

/// A verdict on a ticket, in which `found` was found.
pub(super) fn ticket(safety: &str, found: &str) -> Behaviour {
    let verdict =
        json!({ "prompt_safety": safety, "prompt_toxicity": ["benign"], "jailbreak_detection": [found] });
    Body(verdict.to_string())
}

/// A verdict on an answer.
pub(super) fn response(safety: &str, found: &str) -> Behaviour {
    let verdict = json!({ "response_safety": safety, "response_toxicity": [found], "response_refusal": [] });
    Body(verdict.to_string())
}

/// A service that publishes, the model that writes for it, and the guard, which says one thing after the other.
pub(super) async fn guarded(
    verdicts: impl IntoIterator<Item = Behaviour>,
    more: &str,
) -> (Service, FakeLlm, FakeLlm) {
    let model = FakeLlm::start([Says(sentences(&[("Mooring costs 12 EUR for a night.", &[1])]))]).await;
    let guard = FakeLlm::start(verdicts).await;
    let url = guard.url("");
    let config = llm::asking(&model, &format!("[tickets.guard]\nurl = {url:?}\n{more}"));
    (Service::answering(&config).await, model, guard)
}

async fn assert_refused(service: &Service, action: &str, found: &str) {
    let answer = service.ask(&json!({ "text": QUESTION, "category": "harbour", "action": action })).await;
    let message = format!("the guard refuses this {found}");
    let detail = json!({ "error": "ActionExecutionError", "message": message, "retryable": false });
    assert_eq!((answer.status, answer.json()), (422, json!({ "detail": detail })), "{action}");
}

async fn checks(service: &Service, kind: &str, outcome: &str) -> f64 {
    let name =
        format!("bulkhead_guard_checks_total{{outcome=\"{outcome}\",slot=\"answer\",type=\"{kind}\"}}");
    service.host.metric(&name).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_and_its_answer_are_judged() {
    let safe = || [ticket("safe", "benign"), response("safe", "benign")];
    let (service, model, guard) = guarded([safe(), safe()].concat(), "").await;
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert_eq!(reply["response"], "Mooring costs 12 EUR for a night. [1]");
    assert_eq!((&reply["auto_publish"], &reply["reason"]), (&json!(true), &Value::Null), "{reply}");
    assert_eq!(checks(&service, "prompt", "safe").await, 1.0);
    assert_eq!(checks(&service, "response", "safe").await, 1.0);
    assert_eq!(model.received().len(), 1);

    service.reply(&format!("{QUESTION} Write to eva@post.example"), "harbour", "answer").await;
    let asked = guard.received();
    let paths: Vec<_> = asked.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["/api/v1/guardrails/prompt", "/api/v1/guardrails/response"].repeat(2));
    let text = format!("{QUESTION} Write to [EMAIL_1]");
    assert_eq!(asked[2].json(), json!({ "text": text, "threshold": 0.7 }));
    let response = "Mooring costs 12 EUR for a night.";
    assert_eq!(asked[3].json(), json!({ "text": text, "threshold": 0.7, "response": response }));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_ticket_is_drafted_without_model() {
    let (service, model, guard) = guarded([ticket("unsafe", "prompt_injection")], "").await;
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert!(reply["response"].as_str().unwrap().contains("12 EUR"), "{reply}");
    assert_eq!(reply["auto_publish"], false);
    assert!(reply["reason"].as_str().unwrap().contains("message (prompt_injection)"), "{reply}");
    assert!(model.received().is_empty());
    assert_eq!(guard.received().len(), 1);
    let reply = service.reply(QUESTION, "harbour", "fees").await;
    assert_eq!(
        (&reply["response"], &reply["auto_publish"]),
        (&json!("Mooring costs 12 EUR a night."), &json!(false))
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_answer_is_drafted() {
    let verdicts = [ticket("safe", "benign"), response("unsafe", "regulated_advice")];
    let (service, _model, _guard) = guarded(verdicts, "").await;
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert!(reply["response"].as_str().unwrap().contains("12 EUR"), "{reply}");
    assert_eq!(reply["auto_publish"], false);
    assert!(reply["reason"].as_str().unwrap().contains("answer (regulated_advice)"), "{reply}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unsafe_is_refused_where_configured() {
    let verdicts =
        [ticket("unsafe", "prompt_injection"), ticket("safe", "benign"), response("unsafe", "pii_exposure")];
    let (service, _model, _guard) = guarded(verdicts, "block = true").await;
    for found in ["ticket: prompt_injection", "answer: pii_exposure"] {
        assert_refused(&service, "answer", found).await;
    }
    service.stop().await;
}

/// The guard is asked before anybody looks at the action.
#[tokio::test(flavor = "multi_thread")]
async fn unsafe_ticket_is_refused_for_every_action() {
    let (service, model, guard) = guarded([ticket("unsafe", "prompt_injection")], "block = true").await;
    for action in ["answer", "fees", "clerk", "an action that nobody configured"] {
        assert_refused(&service, action, "ticket: prompt_injection").await;
    }
    assert_eq!((model.received().len(), guard.received().len()), (0, 4));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_guard_stops_publishing_only() {
    let mute = Slow(std::time::Duration::from_secs(60), String::new());
    for behaviour in [Status(500, None), Body("{}".into()), Drips, mute] {
        let (service, model, _guard) = guarded([behaviour.clone()], "block = true\ntimeout_ms = 500").await;
        let reply = service.reply(QUESTION, "harbour", "answer").await;
        assert_eq!(reply["response"], "Mooring costs 12 EUR for a night. [1]", "{behaviour:?}");
        assert_eq!(reply["auto_publish"], false, "{behaviour:?}");
        assert!(reply["reason"].as_str().unwrap().contains("The guard does not answer"), "{reply}");
        assert_eq!(model.received().len(), 1, "{behaviour:?}");
        assert_eq!(checks(&service, "prompt", "unavailable").await, 1.0);
        service.stop().await;
    }
    // The ticket was judged, the answer is not.
    let (service, _model, _guard) = guarded([ticket("safe", "benign"), Status(500, None)], "").await;
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert_eq!(
        (&reply["documents"][0]["title"], &reply["auto_publish"]),
        (&json!("Mooring cost"), &json!(false))
    );
    assert_eq!(checks(&service, "response", "unavailable").await, 1.0);
    service.stop().await;
}
