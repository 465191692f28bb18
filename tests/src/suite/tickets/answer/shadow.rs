//! A candidate of the answer slot in shadow.

use bulkhead::services::list::{self, ANSWER};
use bulkhead_tests::{
    host::eventually,
    operator::{self, Operator},
};

use super::{
    guard::{guarded, response, ticket},
    *,
};

/// The component that is built in, with another digest.
fn built_in() -> Vec<u8> {
    let wasm = list::component(ANSWER).unwrap();
    // A custom section called `x`.
    [wasm, &[0, 3, 1, b'x', 0]].concat()
}

/// Pushes a component and puts it into shadow.
async fn in_shadow(service: &Service, operator: &Operator, wasm: Vec<u8>) {
    let url = service.host.admin_url("/v1/slots/answer/versions?source=test.wasm");
    let request = service.host.client().post(url).bearer_auth(operator::DEPLOY).body(wasm);
    let pushed = request.header("content-type", "application/wasm").send().await.unwrap();
    let version: Value = pushed.json().await.unwrap();
    let body = json!({ "version": version["id"], "generation": 0 });
    let (status, slot) = operator.post_at("/v1/slots/answer/shadow", &body).await;
    assert_eq!(status, 200, "{version} {slot}");
}

/// Waits until so many copies have been compared.
async fn compared(operator: &Operator, copies: u64) -> Value {
    let findings = async || operator.get("/v1/slots/answer/shadow").await.1;
    let count = |findings: &Value| {
        ["same", "different", "failed"].iter().map(|how| findings[how].as_u64().unwrap()).sum::<u64>()
    };
    eventually("the copies are compared", async || count(&findings().await) >= copies).await;
    findings().await
}

/// What costs the operator money, or leaves the house, happens once.
#[tokio::test(flavor = "multi_thread")]
async fn shadow_calls_ask_no_model_again() {
    let verdicts = || [ticket("safe", "benign"), response("safe", "benign")];
    let (service, model, guard) = guarded([verdicts(), verdicts()].concat(), &operator::tokens()).await;
    let operator = Operator::new(&service.host.admin_url(""), operator::DEPLOY);
    in_shadow(&service, &operator, built_in()).await;
    for copies in 1..=2 {
        let reply = service.reply(QUESTION, "harbour", "answer").await;
        assert_eq!(reply["response"], "Mooring costs 12 EUR for a night. [1]", "{reply}");
        let found = compared(&operator, copies).await;
        assert_eq!((&found["same"], &found["differences"]), (&json!(copies), &json!([])), "{found}");
    }
    assert_eq!((model.received().len(), guard.received().len()), (2, 4));
    let counted = async |name: &str| service.host.metric(name).await;
    assert_eq!(counted("bulkhead_llm_calls_total{outcome=\"ok\",slot=\"answer\"}").await, 2.0);
    assert_eq!(counted("bulkhead_shadow_calls_total{result=\"same\",slot=\"answer\"}").await, 2.0);
    let runs = "zammad_ai_answer_run_duration_seconds_count{outcome=\"success\"}";
    assert_eq!(counted(runs).await, 2.0, "a copy is not a run");
    service.stop().await;
}
