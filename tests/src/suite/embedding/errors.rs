//! Everything that can be wrong with a request, each with its status in the shape of its route.

use super::*;

/// Every endpoint that takes texts, and the member that holds them.
const EMBED: [(&str, &str); 8] = [
    ("/embed", "inputs"),
    ("/", "inputs"),
    ("/tei/first/embed", "inputs"),
    ("/tokenize", "inputs"),
    ("/v1/embeddings", "input"),
    ("/embeddings", "input"),
    ("/tei/first/v1/embeddings", "input"),
    ("/tei/first/embeddings", "input"),
];

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_a_wrong_shape_are_400() {
    let service = Service::start("").await;
    for (path, member) in EMBED {
        for body in [
            String::new(),
            "{".into(),
            "null".into(),
            "[\"hello\"]".into(),
            "{}".into(),
            format!("{{\"{member}\":null}}"),
            format!("{{\"{member}\":7}}"),
            format!("{{\"{member}\":[1,2]}}"),
            format!("{{\"{member}\":[[1],[2]]}}"),
            format!("{{\"{member}\":[\"a\",1]}}"),
            format!("{{\"{member}\":[\"a\",null]}}"),
            format!("{{\"{member}\":{{}}}}"),
            format!("{{\"{member}\":\"a\",\"{member}\":\"b\"}}"),
            format!("{{\"{member}\":\"a\"}} trailing"),
            format!("{{\"{member}\":\"\\ud800\"}}"),
            format!("{{\"{member}\":[]}}"),
            format!("{{\"{member}\":\"\"}}"),
            format!("{{\"{member}\":[\"a\",\"\"]}}"),
            format!("{{\"x\":{}}}", "[".repeat(10_000)),
        ] {
            let answer = service.post_text(path, body.clone()).await;
            assert_eq!(answer.status, 400, "{path} {body:.60} {}", answer.text);
            let message = answer.assert_error(400, "invalid_request");
            assert!(!message.contains("struct") && !message.contains("Body"), "{message}");
        }
        let answer = service.post_text(path, b"{\"inputs\":\"\xff\",\"input\":\"\xff\"}".to_vec()).await;
        answer.assert_error(400, "invalid_request");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_form_of_their_route() {
    for (config, is_sentence) in [("", false), ("error_form = \"sentence\"\n", true)] {
        let service = Service::start(config).await;
        for path in ["/v1/embeddings", "/embeddings", "/tei/first/v1/embeddings"] {
            let body = service.post(path, &json!({ "input": "hello", "dimensions": 9 })).await.json();
            let message = "invalid request: dimensions must be from 1 to 4, not 9";
            let error = json!({
                "message": message, "type": "invalid_request_error", "param": "dimensions", "code": "invalid_request",
            });
            assert_eq!(body, json!({ "error": error }), "{path}");
        }
        let unknown =
            service.post("/embeddings", &json!({ "input": "hello", "model": "third" })).await.json();
        assert_eq!(
            (&unknown["error"]["code"], &unknown["error"]["param"]),
            (&json!("model_not_found"), &json!("model"))
        );
        let unrouted = service.get("/v1/embeddings").await.json();
        assert_eq!(unrouted["error"]["code"], "method_not_allowed");
        for path in ["/embed", "/", "/tei/first/embed"] {
            let body = service.post(path, &json!({ "inputs": [] })).await.json();
            let message = "invalid request: the list of inputs is empty";
            let mut wanted = json!({
                "error": "invalid_request", "message": message, "error_type": "Validation",
                "errors": [{ "message": message }],
            });
            if is_sentence {
                wanted["error"] = json!(message);
                wanted["code"] = json!("invalid_request");
            }
            assert_eq!(body, wanted, "{path}");
        }
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_surrogate_pair_names_its_text() {
    let service = Service::start("").await;
    for (path, member) in EMBED {
        for (inputs, index) in
            [(r#""\ud800""#, 0), (r#"["a","b\ud800\ud800"]"#, 1), (r#"["a","b","\udc00"]"#, 2)]
        {
            let answer = service.post_text(path, format!("{{\"{member}\":{inputs}}}")).await;
            let message = answer.assert_error(400, "invalid_request");
            assert!(message.contains(&format!("input {index} has half of a surrogate pair")), "{message}");
        }
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_other_bytes_is_named() {
    let service = Service::start("").await;
    for (path, member) in EMBED {
        let body = [format!("{{\"{member}\":[\"a\",\"").as_bytes(), b"\xff\"]}"].concat();
        let message = service.post_text(path, body).await.assert_error(400, "invalid_request");
        assert!(message.contains("input 1 is not UTF-8"), "{message}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_types_name_their_member() {
    let service = Service::start("").await;
    for (member, value) in [
        ("dimensions", json!("x")),
        ("dimensions", json!(-1)),
        ("encoding_format", json!(5)),
        ("model", json!(["first"])),
        ("prompt_name", json!({})),
        ("input", json!([["a"]])),
    ] {
        let mut body = json!({ "input": "hello" });
        body[member] = value;
        let error = service.post("/v1/embeddings", &body).await.json()["error"].clone();
        assert_eq!(error["param"], member, "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("invalid request: {member}: invalid ")), "{message}");
        assert!(!message.contains("u64"), "{message}");
    }
    let sentences = json!({ "source_sentence": "hello", "sentences": ["hello"] });
    for (path, body, part) in [
        ("/embed", json!({ "inputs": "hello", "normalize": 1 }), "normalize: invalid type: integer `1`"),
        ("/similarity", json!({ "inputs": ["hello", ["hello"]] }), "inputs: invalid type: sequence"),
        ("/similarity", json!({ "inputs": sentences, "parameters": [true] }), "parameters: invalid type"),
    ] {
        let message = service.post(path, &body).await.assert_error(400, "invalid_request");
        assert!(message.starts_with(&format!("invalid request: {part}")), "{message}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_names_are_not_sent_back_whole() {
    let service = Service::start("body_bytes = 4194304\n").await;
    let long = "x".repeat(1 << 20);
    for (path, body) in [
        ("/v1/embeddings", json!({ "input": "a", "model": long })),
        ("/v1/embeddings", json!({ "input": "a", "encoding_format": long })),
        ("/v1/embeddings", json!({ "input": "a", "prompt_name": long })),
        ("/v1/embeddings", json!({ "input": "a", "dimensions": long })),
        ("/embed", json!({ "inputs": "a", "prompt_name": long })),
        ("/embed", json!({ "inputs": "a", "truncate": long })),
        ("/embed", json!({ "inputs": "a", "normalize": long })),
        ("/tokenize", json!({ "inputs": "a", "prompt_name": long })),
        ("/tokenize", json!({ "inputs": "a", "add_special_tokens": long })),
    ] {
        let answer = service.post(path, &body).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text.len() < 1000, "{path}: {} bytes", answer.text.len());
        assert!(answer.text.contains(&long[..40]) && !answer.text.contains(&long[..101]), "{path}");
    }
    let segment = &long[..2000];
    for path in [format!("/v1/models/{segment}"), format!("/tei/{segment}/info")] {
        let answer = service.get(&path).await;
        assert_eq!(answer.status, 404);
        assert!(answer.text.len() < 1000, "{path}: {} bytes", answer.text.len());
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_arrays_and_empty_strings_are_named() {
    let service = Service::start("").await;
    let message = service.post("/v1/embeddings", &json!({ "input": [[1, 2]] })).await;
    let message = message.assert_error(400, "invalid_request");
    assert!(message.contains("check_embedding_ctx_length=False"), "{message}");
    let message = service.post("/embed", &json!({ "inputs": ["a", "b", ""] })).await;
    let message = message.assert_error(400, "invalid_request");
    assert!(message.contains("input 2"), "{message}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_its_limit() {
    let service = Service::start("max_batch_size = 3\n").await;
    assert_eq!(service.post("/embed", &json!({ "inputs": ["a", "b", "c"] })).await.status, 200);
    let message = service.post("/embed", &json!({ "inputs": ["a", "b", "c", "d"] })).await;
    let message = message.assert_error(400, "invalid_request");
    assert!(message.ends_with('3'), "{message}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_statuses_have_the_same_shape() {
    let service = Service::start("body_bytes = 2048\n").await;
    let client = service.host.client();
    for path in ["/embed", "/v1/embeddings"] {
        let url = service.host.url(path);
        let plain = client.post(&url).header("content-type", "text/plain").body("{}");
        service.send(plain).await.assert_error(415, "unsupported_media_type");
        service.send(client.post(&url).body("{}")).await.assert_error(415, "unsupported_media_type");
        let large = json!({ "inputs": "a".repeat(3000), "input": "a".repeat(3000) });
        let message = service.post(path, &large).await.assert_error(413, "payload_too_large");
        assert!(message.ends_with("2048 bytes; send less, or raise embedding.body_bytes"), "{message}");
        let answer = service.get(path).await;
        answer.assert_error(405, "method_not_allowed");
        assert!(answer.header("allow").unwrap().contains("POST"));
    }
    let answer = service.post("/info", &json!({})).await;
    answer.assert_error(405, "method_not_allowed");
    for path in [
        "/nothing",
        "/v1",
        "/embed/",
        "/tei/first/nothing",
        "/v1/models/%ff",
        "/tei/%ff/info",
        "/tei/%c3%28/info",
    ] {
        service.get(path).await.assert_error(404, "not_found");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_known_by_suffix() {
    let service = Service::start("").await;
    for kind in ["application/json; charset=utf-8", "application/vnd.api+json"] {
        let request = service.host.client().post(service.host.url("/embed")).header("content-type", kind);
        assert_eq!(service.send(request.body(r#"{"inputs":"hello"}"#)).await.status, 200, "{kind}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn body_in_another_encoding_is_refused() {
    let service = Service::start("").await;
    for (name, value) in [
        ("content-encoding", "gzip"),
        ("content-encoding", "br"),
        ("content-type", "application/json; charset=iso-8859-1"),
    ] {
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert("content-type", "application/json".parse().unwrap());
        headers.insert(name, value.parse().unwrap());
        let request = service.host.client().post(service.host.url("/embed")).headers(headers);
        let answer = service.send(request.body(r#"{"inputs":"hello"}"#)).await;
        let message = answer.assert_error(415, "unsupported_media_type");
        assert!(message.contains("UTF-8 text without a content encoding"), "{message}");
    }
    service.stop().await;
}
