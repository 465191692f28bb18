//! What is refused, and how; which sessions there are.

use super::*;

const KEY: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test(flavor = "multi_thread")]
async fn all_faults_of_body_are_reported() {
    let service = Service::start("").await;
    let whole = json!({ "text": "a", "category": "b", "action": "clerk" });
    let with = |name: &str, value: Value| {
        let mut body = whole.clone();
        body[name] = value;
        body
    };
    for (body, expected) in [
        (json!({}), vec![("missing", "text"), ("missing", "category"), ("missing", "action")]),
        (
            json!({ "text": 5, "category": null, "action": [] }),
            vec![("string_type", "text"), ("string_type", "category"), ("string_type", "action")],
        ),
        (with("session_id", json!("x".repeat(129))), vec![("string_too_long", "session_id")]),
        (with("ticket_id", json!("x")), vec![("int_parsing", "ticket_id")]),
        (with("ticket_id", json!(1.5)), vec![("int_from_float", "ticket_id")]),
        (with("ticket_id", json!({})), vec![("int_type", "ticket_id")]),
        (with("ticket_id", json!(1e300)), vec![("int_parsing_size", "ticket_id")]),
    ] {
        let answer = service.ask(&body).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        let detail = answer.json()["detail"].clone();
        let found: Vec<_> = detail
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["type"].as_str().unwrap(), one["loc"][1].as_str().unwrap()))
            .collect();
        assert_eq!(found, expected);
    }
    for id in [json!(null), json!(7), json!(7.0), json!("7")] {
        assert_eq!(service.ask(&with("ticket_id", id)).await.status, 200);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_action_is_a_typed_422() {
    let service = Service::start("").await;
    let session = "6fa459ea-ee8a-4ca4-894e-db77e160355e";
    let mut body = json!({ "text": "a", "category": "harbour", "action": "dance" });
    let made = service.ask(&body).await;
    body["session_id"] = json!(session);
    let answer = service.ask(&body).await;
    let detail = json!({
        "error": "ActionExecutionError", "message": "No action found with name: dance", "retryable": false,
    });
    assert_eq!((answer.status, answer.json()), (422, json!({ "detail": detail })));
    assert_eq!(answer.header("x-session-id"), Some(session));
    assert_eq!(made.header("x-session-id").unwrap().as_bytes()[14], b'4');
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_echoed_or_made() {
    let service = Service::start("").await;
    for session in [json!(null), json!("")] {
        let body = json!({ "text": "a", "category": "b", "action": "clerk", "session_id": session });
        let answer = service.ask(&body).await;
        let made = answer.json()["session_id"].as_str().unwrap().to_owned();
        assert_eq!(made.as_bytes()[14], b'4', "{made} is of version 4");
        assert_eq!(answer.header("x-session-id"), Some(made.as_str()));
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_guards_answers() {
    let service = Service::start(&format!("api_key = \"{KEY}\"")).await;
    let body = json!({ "text": "a", "category": "b", "action": "clerk" });
    let answer = service.ask(&body).await;
    assert_eq!((answer.status, answer.text.as_str()), (401, "{\"detail\":\"Unauthorized\"}"));
    let request = service.host.client().post(service.host.url("/api/v1/answer")).json(&body);
    assert_eq!(service.send(request.bearer_auth(KEY)).await.status, 200);
    service.stop().await;
}
