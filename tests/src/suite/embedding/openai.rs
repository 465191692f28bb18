//! OpenAI's endpoints.

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn openai_answer_has_a_real_token_count() {
    let service = Service::start("").await;
    let answer = service.post("/v1/embeddings", &json!({ "input": ["hello world", "winds"] })).await;
    let wanted = json!({
        "object": "list",
        "data": [
            { "object": "embedding", "index": 0, "embedding": [4.5, 1.0, -4.5, 0.5] },
            { "object": "embedding", "index": 1, "embedding": [10.0, 1.0, -10.0, 0.5] },
        ],
        "model": "first",
        "usage": { "prompt_tokens": 4, "total_tokens": 4 },
    });
    assert_eq!((answer.status, answer.json()), (200, wanted));
    let order: Vec<usize> = ["\"object\"", "\"data\"", "\"model\"", "\"usage\""]
        .iter()
        .map(|member| answer.text.find(member).unwrap())
        .collect();
    assert!(order.is_sorted(), "{}", answer.text);
    let one = service.post("/v1/embeddings", &json!({ "input": "hello" })).await.json();
    assert_eq!(one["data"].as_array().unwrap().len(), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn base64_is_of_the_same_numbers() {
    let service = Service::start("").await;
    let body = json!({ "input": "hello", "encoding_format": "base64" });
    let answer = service.post("/v1/embeddings", &body).await.json();
    let text = answer["data"][0]["embedding"].as_str().unwrap();
    assert_eq!(text.len(), 24);
    let bytes = BASE64_STANDARD.decode(text).unwrap();
    let numbers: Vec<f32> =
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(numbers, [4.0, 1.0, -4.0, 0.5]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_members_may_be_null() {
    let service = Service::start("").await;
    let null = json!({
        "input": "hello", "model": null, "encoding_format": null, "dimensions": null, "user": null, "prompt_name": null,
    });
    assert_eq!(service.post("/v1/embeddings", &null).await.json()["model"], "first");
    let cut =
        service.post("/v1/embeddings", &json!({ "input": "hello", "dimensions": 1, "user": "me" })).await;
    assert_eq!(cut.json()["data"][0]["embedding"], json!([4.0]));
    for (member, value) in [
        ("encoding_format", json!("hex")),
        ("dimensions", json!(0)),
        ("dimensions", json!(9)),
        ("prompt_name", json!("query")),
    ] {
        let mut body = json!({ "input": "hello" });
        body[member] = value;
        service.post("/v1/embeddings", &body).await.assert_error(400, "invalid_request");
    }
    let prompted = json!({ "input": "hello", "model": "second", "prompt_name": "query" });
    let answer = service.post("/v1/embeddings", &prompted).await.json();
    assert_eq!(vector(&answer["data"][0]["embedding"]), second().mean(&[12, 4]));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn model_is_named_by_id_or_alias() {
    let service = Service::start("aliases = [\"second=two\"]\n").await;
    for name in ["second", "two"] {
        let answer = service.post("/v1/embeddings", &json!({ "input": "hello", "model": name })).await.json();
        assert_eq!((&answer["model"], &answer["data"][0]["embedding"][1]), (&json!("second"), &json!(2.0)));
    }
    for name in ["", "third", "First"] {
        let answer = service.post("/v1/embeddings", &json!({ "input": "hello", "model": name })).await;
        let message = answer.assert_error(400, "model_not_found");
        assert!(message.contains(&format!("`{name}`")), "{message}");
    }
    let by_path = json!({ "input": "hello", "model": "whatever a client sends" });
    let answer = service.post("/tei/two/v1/embeddings", &by_path).await.json();
    assert_eq!(answer["model"], "second");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_with_the_default_first() {
    let service = Service::start("default_model = \"second\"\nmodel_owner = \"town\"\n").await;
    let list = service.get("/v1/models").await.json();
    assert_eq!(list["object"], "list");
    let ids: Vec<&Value> = list["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["second", "first"]);
    for model in list["data"].as_array().unwrap() {
        assert_eq!((&model["object"], &model["owned_by"]), (&json!("model"), &json!("town")));
        assert!(model["created"].is_u64());
    }
    assert_eq!(service.get("/v1/models/first").await.json()["id"], "first");
    service.get("/v1/models/third").await.assert_error(404, "not_found");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_come_in_the_old_order() {
    let service = Service::start("max_batch_size = 2\n").await;
    let all_wrong = json!({ "input": [], "encoding_format": "hex", "model": "third" });
    let message = service.post("/v1/embeddings", &all_wrong).await.assert_error(400, "invalid_request");
    assert!(message.contains("empty"), "{message}");
    let many = json!({ "input": ["a", "b", "c"], "encoding_format": "hex", "model": "third" });
    let message = service.post("/v1/embeddings", &many).await.assert_error(400, "invalid_request");
    assert!(message.ends_with('2'), "{message}");
    let format = json!({ "input": "a", "encoding_format": "hex", "model": "third" });
    service.post("/v1/embeddings", &format).await.assert_error(400, "invalid_request");
    service.stop().await;
}
