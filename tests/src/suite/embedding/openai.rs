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
async fn any_model_may_be_named_where_configured() {
    let service = Service::start("model_names = \"any\"\n").await;
    for (name, model) in [("text-embedding-3-small", "first"), ("", "first"), ("second", "second")] {
        for path in ["/v1/embeddings", "/embeddings"] {
            let answer = service.post(path, &json!({ "input": "hello", "model": name })).await;
            assert_eq!((answer.status, &answer.json()["model"]), (200, &json!(model)), "{name}");
        }
    }
    service.get("/v1/models/text-embedding-3-small").await.assert_error(404, "not_found");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_ids_are_taken_where_configured() {
    let service = Service::start("token_ids = true\nmax_batch_size = 2\nmax_input_length = 3\n").await;
    let one = service.post("/v1/embeddings", &json!({ "input": [4, 5] })).await.json();
    assert_eq!(vector(&one["data"][0]["embedding"]), FIRST.mean(&[4, 5]));
    assert_eq!(one["usage"]["prompt_tokens"], 2);
    let two = service.post("/embeddings", &json!({ "input": [[4], [5, 6]], "dimensions": 1 })).await.json();
    assert_eq!(two["data"].as_array().unwrap().len(), 2);
    assert_eq!(two["data"][1]["embedding"], json!([5.5]));
    for (input, part) in [
        (json!([4, 14]), "token id 14"),
        (json!([4, 4, 4, 4]), "limit is 3"),
        (json!([[4], []]), "no tokens"),
        (json!([[4], [5], [6]]), "maximum batch size of 2"),
        (json!([4, "hello"]), "either strings or token ids"),
        (json!([-4]), "token id"),
    ] {
        let answer = service.post("/v1/embeddings", &json!({ "input": input })).await;
        let message = answer.assert_error(400, "invalid_request");
        assert!(message.contains(part), "{input}: {message}");
    }
    let prompted = json!({ "input": [4], "model": "second", "prompt_name": "query" });
    let message = service.post("/v1/embeddings", &prompted).await.assert_error(400, "invalid_request");
    assert!(message.contains("prompt_name goes with texts"), "{message}");
    let plain = json!({ "input": [4], "model": "second", "prompt_name": "" });
    assert_eq!(service.post("/v1/embeddings", &plain).await.status, 200);
    // The retired forms of text-embeddings-inference are no texts.
    for inputs in [json!([4, 5]), json!([[4], [5]])] {
        service.post("/embed", &json!({ "inputs": inputs })).await.assert_error(400, "invalid_request");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_2048_texts_are_embedded() {
    let service = Service::start("").await;
    let answer = service.post("/v1/embeddings", &json!({ "input": vec!["hello"; 2048] })).await.json();
    assert_eq!(answer["data"].as_array().unwrap().len(), 2048);
    let more = service.post("/v1/embeddings", &json!({ "input": vec!["hello"; 2049] })).await;
    assert!(more.assert_error(400, "invalid_request").ends_with("2048"));
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
