#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn settings() -> Llm {
    Llm::for_tests("http://127.0.0.1:1/v1")
}

fn request() -> Request {
    let message = |role, content: &str| Message { role, content: content.to_owned() };
    Request {
        messages: vec![message(Role::System, "Sort."), message(Role::User, "{\"ticket\":\"ä\"}")],
        schema: Some(Schema { name: "category".into(), json: "{\"type\":\"object\"}".into() }),
        max_tokens: None,
    }
}

#[test]
fn a_request_is_spelled_as_the_endpoint_reads_it() {
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
fn requests_that_may_not_be_sent_are_refused() {
    let refused = |request: Request| body(&settings(), &request, 50).unwrap_err();
    assert!(refused(Request { messages: Vec::new(), ..request() }).contains("1 to 64 messages"));
    for name in ["", "a b", "ä", &"a".repeat(65)] {
        let schema = Some(Schema { name: name.to_owned(), json: "{}".into() });
        assert!(refused(Request { schema, ..request() }).contains("name"), "{name}");
    }
    let schema = Some(Schema { name: "a".into(), json: "{".into() });
    assert!(refused(Request { schema, ..request() }).starts_with("the schema: "));
}

#[test]
fn tokens_are_rather_overestimated() {
    assert_eq!(request().estimated_tokens(), (5 + 15_u64 + 1 + 17).div_ceil(3) + 16);
}

#[test]
fn an_answer_is_read_and_nothing_else_is() {
    let answer = |choice: Value| {
        let body = json!({ "model": "m", "choices": [choice], "usage": { "prompt_tokens": 7, "completion_tokens": 3 } });
        completion(body.to_string().as_bytes(), 400)
    };
    let said =
        |text: &str, reason: &str| answer(json!({ "message": { "content": text }, "finish_reason": reason }));
    let read = said("{}", "stop").unwrap();
    assert_eq!((read.text.as_str(), read.model.as_str(), read.tokens()), ("{}", "m", Some(10)));
    assert!(said("{", "length").unwrap_err().contains("cut off after 400 tokens"));
    assert!(said("", "content_filter").unwrap_err().contains("filter"));
    assert_eq!(said(" ", "stop").unwrap_err(), "it answered nothing");
    assert_eq!(answer(json!({ "message": { "content": null } })).unwrap_err(), "it answered nothing");
    assert_eq!(completion(b"{\"choices\":[]}", 400).unwrap_err(), "it answered no choice");
    for broken in ["", "{", "<html>secret</html>", "{\"choices\":7}", "[]"] {
        assert_eq!(
            completion(broken.as_bytes(), 400).unwrap_err(),
            "it answered something that is no chat completion"
        );
    }
}
