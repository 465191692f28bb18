//! Health, metrics and documentation.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn health_and_readiness_list_the_models() {
    let service = Service::start("").await;
    for path in ["/health", "/ping", "/", "/ready"] {
        let answer = service.get(path).await;
        assert_eq!(answer.status, 200);
        let body = answer.json();
        assert_eq!((&body["status"], &body["ready"]), (&json!("healthy"), &json!(true)));
        assert!(body["message"].is_string());
        let model = json!({ "model_id": "first", "status": "ready", "message": "model loaded" });
        assert_eq!(body["models"][0], model);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn public_metrics_are_of_the_service_alone() {
    let service = Service::start("").await;
    service.post("/v1/embeddings", &json!({ "input": ["hello world", "day"] })).await;
    service.post("/tei/second/embed", &json!({ "inputs": "hello" })).await;
    service.post("/embed", &json!({ "inputs": [] })).await;
    service.post("/embed", &json!({ "inputs": ["hello", ""] })).await;
    let text = service.get("/metrics").await.text;
    for line in [
        r#"http_requests_total{method="POST",model="first",path="/v1/embeddings",status="200"} 1"#,
        r#"http_requests_total{method="POST",model="second",path="/tei/{model_id}/embed",status="200"} 1"#,
        r#"http_requests_total{method="POST",model="none",path="/embed",status="400"} 2"#,
        r#"http_request_duration_seconds_count{method="POST",model="first",path="/v1/embeddings"} 1"#,
        r#"http_errors_total{status="500"} 0"#,
        r#"embedding_texts_total{model="first"} 2"#,
        r#"embedding_tokens_total{model="first"} 3"#,
        "embedding_waiting_texts 0",
        r#"te_request_count{method="batch"} 1"#,
        r#"te_request_count{method="unknown"} 2"#,
        r#"te_request_success{method="batch"} 1"#,
        r#"te_request_success{method="single"} 1"#,
        r#"te_request_failure{err="validation"} 2"#,
        "te_request_duration_count 4",
        "te_request_inference_duration_count 2",
        "te_request_input_length_sum 4",
        "te_request_input_length_count 3",
        "te_queue_size 0",
        "te_batch_next_size_sum 3",
        "te_batch_next_tokens_sum 4",
        "te_embed_count 5",
        "te_embed_success 3",
        "te_embed_duration_count 3",
        "te_embed_tokenization_duration_count 3",
        "te_embed_queue_duration_count 3",
        "te_embed_inference_duration_count 3",
        "te_predict_count 0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    for other in ["captcha_", "jvm_", "bulkhead_", "process_"] {
        assert!(!text.contains(&format!("\n{other}")), "{other}");
    }
    let admin = service.host.client().get(service.host.admin_url("/metrics")).send().await.unwrap();
    assert!(admin.text().await.unwrap().contains("embedding_texts_total"));
    service.stop().await;
}

/// Whether a header says what a request took, or what became of its texts.
fn is_of_work(name: &str) -> bool {
    ["x-compute-", "x-truncated-", "x-zero-"].iter().any(|start| name.starts_with(start))
        || (name.starts_with("x-") && name.ends_with("-time"))
}

#[tokio::test(flavor = "multi_thread")]
async fn description_names_every_path() {
    let config = "default_model = \"xlm-roberta\"\napi_keys = [\"one\"]\n";
    let service = Service::of_all_kinds(config).await;
    let document = service.get("/openapi.json").await.json();
    assert_eq!(service.get("/api-doc/openapi.json").await.json(), document);
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(document["components"]["securitySchemes"]["key"].is_object());
    for path in document["paths"].as_object().unwrap().keys() {
        let (model, body) = match path.rsplit('/').next() {
            Some("rerank") => ("bert-cross", json!({ "query": "hello", "texts": ["hello"] })),
            Some("predict") => ("roberta-classes", json!({ "inputs": "hello" })),
            Some("similarity") => {
                let inputs = json!({ "source_sentence": "hello", "sentences": ["hello"] });
                ("first", json!({ "inputs": inputs }))
            }
            Some("embed_all") => ("xlm-roberta", json!({ "inputs": "hello" })),
            Some("embed_sparse") => ("bert-splade", json!({ "inputs": "hello" })),
            _ => ("first", json!({ "inputs": "hello", "input": "hello" })),
        };
        let concrete = path.replace("{model_id}", model).replace("{id}", model);
        for method in document["paths"][path].as_object().unwrap().keys() {
            let method: reqwest::Method = method.to_uppercase().parse().unwrap();
            let request = service.host.client().request(method.clone(), service.host.url(&concrete));
            let answer = service.send(request.bearer_auth("one").json(&body)).await;
            assert_eq!(answer.status, 200, "{method} {concrete} {}", answer.text);
            let described = &document["paths"][path][&method.as_str().to_lowercase()];
            let described = &described["responses"]["200"]["headers"];
            for name in answer.headers.keys().map(|name| name.as_str()).filter(|name| is_of_work(name)) {
                assert!(described[name].is_object(), "{method} {path} {name}");
            }
        }
    }
    let page = service.get("/docs").await;
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn viewer_is_compressed_for_gzip_clients() {
    let service = Service::start("api_keys = [\"one\"]\n").await;
    let fetch = async |accepted: &str| {
        let request = service.host.client().get(service.host.url("/docs/swagger-ui-bundle.js"));
        let response = request.header("accept-encoding", accepted).send().await.unwrap();
        assert_eq!(response.status(), 200, "{accepted}");
        let coding =
            response.headers().get("content-encoding").map(|coding| coding.to_str().unwrap().to_owned());
        (coding, response.bytes().await.unwrap())
    };
    let (coding, compressed) = fetch("br, gzip").await;
    assert_eq!(coding.as_deref(), Some("gzip"));
    assert!(compressed.starts_with(&[0x1f, 0x8b]) && compressed.len() < 600 << 10);
    let (coding, plain) = fetch("identity").await;
    assert_eq!(coding, None);
    assert!(plain.len() > 1 << 20 && plain.starts_with(b"/*! For license information"));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn own_prefix_and_listener_are_honoured() {
    let config = "[services.embedding]\npath_prefix = \"/vectors\"\n";
    let service = Service::start(config).await;
    assert_eq!(service.get("/vectors/info").await.json()["model_id"], "first");
    assert_eq!(service.post("/vectors", &json!({ "inputs": "hello" })).await.status, 200);
    assert_eq!(service.get("/info").await.status, 404);
    service.stop().await;
}
