//! An endpoint at its worst: the passages speak for themselves, in time, and the reason says why.

use std::time::Duration;

use bulkhead_tests::servers::llm::Behaviour::{Body, Drips, Floods, Redirects, Status};

use super::*;

/// Attempts and pauses are short.
const BRIEF: &str = "timeout_ms = 3000\nretries = 1";

async fn falls_back(behaviour: Behaviour, reason: &str, attempts: usize, outcome: &str) {
    let (service, endpoint) = service([behaviour.clone()], BRIEF).await;
    assert_fallen_back(&answered(&service, QUESTION).await, reason);
    assert_eq!(endpoint.received().len(), attempts, "{behaviour:?}");
    assert_eq!(calls(&service, outcome).await, 1.0, "{behaviour:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_or_slow_endpoint_is_abandoned() {
    let slow = Slow(Duration::from_secs(60), String::new());
    for behaviour in [slow, Drips] {
        falls_back(behaviour, "it does not answer", 1, "unavailable").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoint_errors_are_retried_then_reported() {
    for (status, reason) in [(500, "it answers with an error"), (429, "it has too many requests")] {
        falls_back(Status(status, None), reason, 2, "unavailable").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_completion_is_no_answer() {
    falls_back(Floods, "another form", 1, "invalid-answer").await;
    falls_back(Body("{".to_owned()), "another form", 1, "invalid-answer").await;
    let redirects = Redirects("https://evil.example/".to_owned());
    falls_back(redirects, "it answers with an error", 1, "unavailable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_or_foreign_answer_is_refused() {
    let published = sentences(&[(GROUNDED, &[1])]).replacen('{', "{\"auto_publish\":true,", 1);
    let german = "Das Anlegen kostet in der Nacht 12 Euro, und Sie zahlen es im Hafenamt.";
    for (text, reason) in [
        (GROUNDED.to_owned(), "another form"),
        ("{\"sentences\": [".to_owned(), "another form"),
        ("[]".to_owned(), "another form"),
        (published, "another form"),
        (sentences(&[(german, &[1])]), "another language"),
    ] {
        falls_back(Says(text), reason, 1, "ok").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn call_over_its_budget_is_omitted() {
    let (service, endpoint) = service([Says(String::new())], "tokens_per_minute = 100").await;
    let reply = answered(&service, QUESTION).await;
    assert_fallen_back(&reply, "its budget is used up");
    assert!(endpoint.received().is_empty());
    service.stop().await;
}

/// The slot's deadline is kept with time to go on without the model.
#[tokio::test(flavor = "multi_thread")]
async fn slot_deadline_precedes_endpoint_timeout() {
    let slow = Slow(Duration::from_secs(60), String::new());
    let (service, _endpoint) = service([slow], "[slots.answer]\ndeadline_ms = 8000").await;
    assert_fallen_back(&answered(&service, QUESTION).await, "it does not answer");
    service.stop().await;
}
