//! What a model may cost.

use std::time::Duration;

use bulkhead_tests::servers::llm::Behaviour::Slow;
use futures_util::future::join_all;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn call_over_its_budget_is_omitted() {
    for limit in ["tokens_per_call = 100", "tokens_per_minute = 100"] {
        let (service, endpoint) = service([Says(category("greeting", 0.9, ""))], limit).await;
        assert_fallen_back(&service.decision(AHOY).await, "its budget is used up");
        assert!(endpoint.received().is_empty());
        assert_eq!(calls(&service, "over-budget").await, 1.0);
        service.stop().await;
    }
}

/// What the endpoint says a call took counts, not what was set aside for it.
#[tokio::test(flavor = "multi_thread")]
async fn minute_is_charged_with_used_tokens() {
    let (service, endpoint) =
        service([Says(category("greeting", 0.9, ""))], "tokens_per_minute = 2000").await;
    for _ in 0..4 {
        // About 900 are set aside for each, 100 are taken.
        assert_eq!(service.decision(AHOY).await["category"]["name"], "greeting");
    }
    assert_eq!(endpoint.received().len(), 4);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_for_their_turn() {
    let slow = Slow(Duration::from_millis(200), category("greeting", 0.9, ""));
    let (service, endpoint) = service([slow], "max_concurrent = 2").await;
    let decisions = join_all((0..6).map(|_| service.decision(AHOY))).await;
    assert!(decisions.iter().all(|decision| decision["category"]["name"] == "greeting"));
    assert_eq!((endpoint.received().len(), endpoint.most_running()), (6, 2));
    service.stop().await;
}
