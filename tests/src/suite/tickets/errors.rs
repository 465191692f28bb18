//! What is refused, and how.

use super::*;

const KEY: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test(flavor = "multi_thread")]
async fn all_faults_of_body_are_reported() {
    let service = Service::start("").await;
    for (body, expected) in [
        (json!({}), vec![("missing", "text")]),
        (json!({ "text": 5 }), vec![("string_type", "text")]),
        (
            json!({ "text": null, "session_id": "x".repeat(129) }),
            vec![("string_type", "text"), ("string_too_long", "session_id")],
        ),
        (json!({ "text": "a", "session_id": 5 }), vec![("string_type", "session_id")]),
    ] {
        let answer = service.triage(&body).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        let detail = answer.json()["detail"].clone();
        let found: Vec<_> = detail
            .as_array()
            .unwrap()
            .iter()
            .map(|violation| {
                assert_eq!(violation["loc"][0], "body");
                assert!(violation["msg"].is_string() && violation.get("input").is_some(), "{violation}");
                (violation["type"].as_str().unwrap(), violation["loc"][1].as_str().unwrap())
            })
            .collect();
        assert_eq!(found, expected);
    }
    for (text, kind) in
        [("{", "json_invalid"), ("[]", "model_attributes_type"), ("", "missing"), ("null", "missing")]
    {
        let request = service.host.client().post(service.host.url("/api/v1/triage"));
        let answer = service.send(request.header("content-type", "application/json").body(text)).await;
        assert_eq!((answer.status, &answer.json()["detail"][0]["type"]), (422, &json!(kind)));
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn undeclared_json_is_refused() {
    let service = Service::start("").await;
    let text = r#"{"text":"ahoy"}"#;
    let ask = |declared: Option<&str>| {
        let request = service.host.client().post(service.host.url("/api/v1/triage")).body(text);
        service.send(match declared {
            Some(kind) => request.header("content-type", kind),
            None => request,
        })
    };
    for declared in [None, Some("text/plain; charset=iso-8859-1"), Some("application/x-www-form-urlencoded")]
    {
        let answer = ask(declared).await;
        let violation = json!({
            "type": "model_attributes_type", "loc": ["body"], "input": text,
            "msg": "Input should be a valid dictionary or object to extract fields from",
        });
        assert_eq!((answer.status, answer.json()), (422, json!({ "detail": [violation] })), "{declared:?}");
    }
    for declared in ["application/json; charset=utf-8", "Application/JSON", "application/vnd.tickets+json"] {
        assert_eq!(ask(Some(declared)).await.status, 200, "{declared}");
    }
    let answer = ask(Some("application/json; charset=iso-8859-1")).await;
    assert_eq!(
        (answer.status, &answer.json()["detail"]["error"]),
        (415, &json!("UnsupportedMediaTypeError"))
    );
    service.stop().await;
}

/// Nothing is sorted or answered where a request is refused unread; a run that fails is one.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_no_runs() {
    let service = Service::start("body_bytes = 1024").await;
    for path in ["/api/v1/triage", "/api/v1/answer"] {
        let post = || service.host.client().post(service.host.url(path));
        assert_eq!(service.get(path).await.status, 405);
        assert_eq!(service.send(post().body("ahoy")).await.status, 422);
        assert_eq!(service.send(post().json(&json!({ "text": 5 }))).await.status, 422);
        assert_eq!(service.send(post().json(&json!({ "text": "ahoy ".repeat(300) }))).await.status, 413);
        let request = post().header("content-encoding", "gzip").json(&json!({ "text": "ahoy" }));
        assert_eq!(service.send(request).await.status, 415);
    }
    let runs = async |of: &str| {
        let metrics = service.host.metrics().await;
        let name = format!("zammad_ai_{of}_run_duration_seconds_count");
        metrics.of(&name).into_iter().map(|(_, runs)| runs).sum::<f64>()
    };
    assert_eq!((runs("triage").await, runs("answer").await), (0.0, 0.0));
    let unknown = json!({ "text": "ahoy", "category": "harbour", "action": "dance" });
    let request = service.host.client().post(service.host.url("/api/v1/answer")).json(&unknown);
    assert_eq!(service.send(request).await.status, 422);
    let failed = "zammad_ai_answer_run_duration_seconds_count{outcome=\"error\"}";
    assert_eq!((service.host.metric(failed).await, runs("answer").await), (1.0, 1.0));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_carries_a_valid_session() {
    let service = Service::start("").await;
    let session = "6fa459ea-ee8a-4ca4-894e-db77e160355e";
    let answer = service.triage(&json!({ "session_id": session })).await;
    assert_eq!((answer.status, answer.header("x-session-id")), (422, Some(session)));
    for session in [json!("x".repeat(129)), json!(5)] {
        let answer = service.triage(&json!({ "text": "ahoy", "session_id": session })).await;
        assert_eq!((answer.status, answer.header("x-session-id")), (422, None));
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_body_is_413_with_key() {
    let service = Service::start("body_bytes = 1024").await;
    let body = json!({ "text": "ahoy ".repeat(300), "category": "harbour", "action": "fees" });
    for path in ["/api/v1/triage", "/api/v1/answer"] {
        let answer = service.send(service.host.client().post(service.host.url(path)).json(&body)).await;
        let detail = json!({
            "error": "InputTooLongError",
            "message": "the request body has more than 1024 bytes; send less, or raise tickets.body_bytes",
            "retryable": false,
        });
        assert_eq!((answer.status, answer.json()), (413, json!({ "detail": detail })), "{path}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_guards_decisions() {
    let service = Service::start(&format!("api_key = \"{KEY}\"")).await;
    let call = |header: Option<String>| {
        let request =
            service.host.client().post(service.host.url("/api/v1/triage")).json(&json!({ "text": "ahoy" }));
        service.send(match header {
            Some(value) => request.header("authorization", value),
            None => request,
        })
    };
    for refused in [
        None,
        Some("Bearer wrong".to_owned()),
        Some(format!("Basic {KEY}")),
        Some("Bearer schl\u{fc}ssel".to_owned()),
    ] {
        let answer = call(refused.clone()).await;
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (401, "{\"detail\":\"Unauthorized\"}"),
            "{refused:?}"
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(call(Some(format!("bEARER {KEY}"))).await.status, 200);
    assert_eq!(service.get("/api/v1/health").await.status, 200);
    assert_eq!(service.get("/api/v1/prompt_versions").await.status, 200);
    assert_eq!(service.get("/api/v1/prompt_versions?details=1").await.status, 401);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfigured_part_is_a_final_503() {
    let service = Service::with("[services.embedding]\nenabled = false").await;
    let answer = service.triage(&json!({ "text": "ahoy" })).await;
    let detail = json!({
        "error": "TriageError", "message": "no triage configuration is loaded; set tickets.triage", "retryable": false,
    });
    assert_eq!((answer.status, answer.json()), (503, json!({ "detail": detail })));
    assert!(answer.header("x-session-id").is_some());
    assert_eq!(answer.header("retry-after"), None);
    let prompts = service.get("/api/v1/prompt_versions").await;
    assert_eq!((prompts.status, prompts.header("retry-after")), (503, None));
    assert_eq!(prompts.json()["detail"]["retryable"], false);
    let body = json!({ "text": "ahoy", "category": "harbour", "action": "answer" });
    let request = service.host.client().post(service.host.url("/api/v1/answer")).json(&body);
    let answer = service.send(request).await;
    assert_eq!((answer.status, &answer.json()["detail"]["error"]), (503, &json!("AnswerServiceError")));
    assert_eq!((answer.header("retry-after"), &answer.json()["detail"]["retryable"]), (None, &json!(false)));
    assert_eq!(service.get("/api/v1/triage").await.json(), json!({ "detail": "Method Not Allowed" }));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_configuration_lists_all_violations() {
    let folder = TempDir::new().unwrap();
    let rules = RULES.replace("no_category_name = \"other\"", "no_category_name = \"nothing\"");
    let rules = rules.replace("action_name = \"fees\"", "action_name = \"nothing\"");
    let config = configured(folder.path(), &rules, "");
    let error = TestHost::builder().config(&config).try_start().await.err().unwrap();
    assert!(error.contains("rules.toml: invalid triage configuration:"), "{error}");
    assert!(error.matches("\n- ").count() >= 2, "{error}");
    let error =
        TestHost::builder().config("[tickets]\ntriage = \"/nowhere.toml\"").try_start().await.err().unwrap();
    assert!(error.contains("cannot read /nowhere.toml") && error.contains("fix tickets.triage"), "{error}");
    let error = TestHost::builder().config("[tickets]\napi_key = \"short\"").try_start().await.err().unwrap();
    assert!(error.contains("at least 32 characters"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_have_the_service_shape() {
    let service = Service::start("").await;
    for path in ["/api/v1/nothing", "/api/v1/triage/", "/api/v1/%ff"] {
        let answer = service.get(path).await;
        assert_eq!((answer.status, answer.json()), (404, json!({ "detail": "Not Found" })), "{path}");
    }
    let request = service.host.client().post(service.host.url("/api/v1/triage"));
    let request = request.header("content-encoding", "gzip").json(&json!({ "text": "ahoy" }));
    let answer = service.send(request).await;
    assert_eq!(
        (answer.status, &answer.json()["detail"]["error"]),
        (415, &json!("UnsupportedMediaTypeError"))
    );
    service.stop().await;
}
