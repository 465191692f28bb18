//! Tests of requests and responses of chat completions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn settings() -> LlmSettings {
    LlmSettings::for_tests("http://127.0.0.1:1/v1")
}

fn request() -> CompletionRequest {
    let message = |role, content: &str| ChatMessage { role, content: content.to_owned() };
    CompletionRequest {
        messages: vec![message(Role::System, "Sort."), message(Role::User, "{\"ticket\":\"ä\"}")],
        schema: Some(Schema { name: "category".into(), json: "{\"type\":\"object\"}".into() }),
        max_tokens: None,
    }
}

#[test]
fn request_has_the_format_of_openai() {
    let body: Value = serde_json::from_slice(&body(&settings(), &request(), 50).unwrap()).unwrap();
    let expected = json!({
        "model": "small",
        "messages": [
            { "role": "system", "content": "Sort." },
            { "role": "user", "content": "{\"ticket\":\"ä\"}" },
        ],
        "temperature": 0.0,
        "max_tokens": 50,
        "stream": false,
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "category", "strict": true, "schema": { "type": "object" } },
        },
    });
    assert_eq!(body, expected);
}

#[test]
fn invalid_requests_are_rejected() {
    let refused = |request: CompletionRequest| body(&settings(), &request, 50).unwrap_err();
    assert!(refused(CompletionRequest { messages: Vec::new(), ..request() }).contains("1 to 64 messages"));
    for name in ["", "a b", "ä", &"a".repeat(65)] {
        let schema = Some(Schema { name: name.to_owned(), json: "{}".into() });
        assert!(refused(CompletionRequest { schema, ..request() }).contains("name"), "{name}");
    }
    let schema = Some(Schema { name: "a".into(), json: "{".into() });
    assert!(refused(CompletionRequest { schema, ..request() }).starts_with("the schema: "));
}

#[test]
fn estimate_of_tokens_is_high() {
    assert_eq!(request().estimated_tokens(), (5 + 15_u64 + 1 + 17).div_ceil(3) + 16);
}

#[test]
fn only_complete_responses_are_accepted() {
    let answer = |choice: Value| {
        let body = json!({ "model": "m", "choices": [choice], "usage": { "prompt_tokens": 7, "completion_tokens": 3 } });
        completion(body.to_string().as_bytes(), 400)
    };
    let respond =
        |text: &str, reason: &str| answer(json!({ "message": { "content": text }, "finish_reason": reason }));
    let read = respond("{}", "stop").unwrap();
    assert_eq!((read.text.as_str(), read.model.as_str(), read.tokens()), ("{}", "m", Some(10)));
    assert!(respond("{", "length").unwrap_err().contains("cut off after 400 tokens"));
    assert!(respond("", "content_filter").unwrap_err().contains("filter"));
    assert_eq!(respond(" ", "stop").unwrap_err(), "it answered nothing");
    assert_eq!(answer(json!({ "message": { "content": null } })).unwrap_err(), "it answered nothing");
    assert_eq!(completion(b"{\"choices\":[]}", 400).unwrap_err(), "it answered no choice");
    for broken in ["", "{", "<html>secret</html>", "{\"choices\":7}", "[]"] {
        assert_eq!(
            completion(broken.as_bytes(), 400).unwrap_err(),
            "it answered something that is not a chat completion"
        );
    }
}
