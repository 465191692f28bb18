//! Ranking, classifying and comparing texts, with the tiny models that the reference library made.

use std::path::Path;

use super::*;

/// The models, and a static one as the default.
const MODELS: [&str; 4] = ["bert-cross", "roberta-classes", "bert-splade", "xlm-roberta"];

impl Service {
    /// With `config` below `[embedding]`, the toy model `first` as the default unless it says otherwise, and models of
    /// other kinds.
    pub(super) async fn of_all_kinds(config: &str) -> Self {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/inference/tests/golden");
        let models = TempDir::new().unwrap();
        let first = ToyModel { prompts: json!({}), ..FIRST }.write(models.path(), "first");
        let folders: Vec<_> = [first].into_iter().chain(MODELS.map(|name| golden.join(name))).collect();
        let text = format!("[embedding]\ndtype = \"float32\"\nmodels = {folders:?}\n{config}");
        let host = TestHost::builder().config(&text).start().await;
        Self { host, _models: models }
    }
}

const QUERY: &str = "what does a passport cost?";
const TEXTS: [&str; 3] =
    ["the town hall opens at nine", "passports are issued in room twelve.", "a new bin costs ten euros"];

fn near(found: &Value, wanted: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - wanted).abs() < 1e-3, "{found}, not {wanted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_ranked_by_falling_score() {
    let service = Service::of_all_kinds("").await;
    let body = json!({ "query": QUERY, "texts": TEXTS, "raw_scores": true, "return_text": true });
    let raw = service.post("/rerank", &body).await.json();
    let rows = raw.as_array().unwrap();
    assert_eq!(rows.len(), 3);
    let scores: Vec<f64> = rows.iter().map(|row| row["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
    for row in rows {
        let index = usize::try_from(row["index"].as_u64().unwrap()).unwrap();
        assert_eq!(row["text"], TEXTS[index]);
    }
    // As the reference has it.
    let second = rows.iter().find(|row| row["index"] == 1).unwrap();
    near(&second["score"], -0.726_268);
    let body = json!({ "query": QUERY, "texts": TEXTS });
    let shown = service.post("/tei/bert-cross/rerank", &body).await.json();
    for (row, raw) in shown.as_array().unwrap().iter().zip(&scores) {
        near(&row["score"], 1.0 / (1.0 + (-raw).exp()));
        assert!(row.get("text").is_none());
    }
    let metrics = service.get("/metrics").await.text;
    for line in [
        "te_request_success{method=\"batch\"} 2",
        "te_embed_count 0",
        "te_predict_count 6",
        "te_predict_success 6",
        "te_predict_duration_count 6",
        "te_predict_inference_duration_count 6",
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line}\n{metrics}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_ranked_in_another_form() {
    let service = Service::of_all_kinds("").await;
    let documents = json!([TEXTS[0], { "text": TEXTS[1] }, TEXTS[2]]);
    let plain = json!({ "query": QUERY, "documents": documents });
    let all = service.post("/rerank", &plain).await.json();
    assert_eq!(all["results"].as_array().unwrap().len(), 3);
    assert!(all["model"].as_str().unwrap().ends_with("bert-cross"));
    assert!(all["usage"]["total_tokens"].as_u64().unwrap() > 30);
    for path in ["/v1/rerank", "/v2/rerank", "/tei/bert-cross/v1/rerank", "/tei/bert-cross/v2/rerank"] {
        let body = json!({
            "model": "bert-cross", "query": QUERY, "documents": documents, "top_n": 1, "return_documents": true,
        });
        let answer = service.post(path, &body).await.json();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 1);
        assert_eq!(results[0]["index"], all["results"][0]["index"]);
        let index = usize::try_from(results[0]["index"].as_u64().unwrap()).unwrap();
        assert_eq!(results[0]["document"]["text"], TEXTS[index]);
    }
    let unknown = json!({ "model": "rerank-v3.5", "query": QUERY, "documents": documents });
    let message = service.post("/v2/rerank", &unknown).await.assert_error(400, "model_not_found");
    assert!(message.contains("rerank-v3.5"), "{message}");
    // The path names the model.
    let ranked = service.post("/tei/bert-cross/v2/rerank", &unknown).await.json();
    assert_eq!(ranked["results"], all["results"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_and_pairs_are_classified() {
    let service = Service::of_all_kinds("").await;
    let path = "/tei/roberta-classes/predict";
    let one = service.post(path, &json!({ "inputs": "Hello world" })).await.json();
    let rows = one.as_array().unwrap();
    let sum: f64 = rows.iter().map(|row| row["score"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{rows:?}");
    let mut labels: Vec<&str> = rows.iter().map(|row| row["label"].as_str().unwrap()).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["fair", "happy", "sad"]);
    let pair = json!([QUERY, TEXTS[1]]);
    let body = json!({ "inputs": [["Hello world"], pair], "raw_scores": true });
    let batch = service.post(path, &body).await.json();
    let sad = batch[1].as_array().unwrap().iter().find(|row| row["label"] == "sad").unwrap();
    near(&sad["score"], 0.584_682);
    let alone = service.post(path, &json!({ "inputs": pair, "raw_scores": true })).await.json();
    assert_eq!(alone, batch[1]);
    let info = service.get("/tei/roberta-classes/info").await.json();
    assert_eq!(info["model_type"]["classifier"]["id2label"]["2"], "happy");
    let info = service.get("/tei/bert-cross/info").await.json();
    assert!(info["model_type"]["reranker"].is_object(), "{info}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sentences_are_compared() {
    let service = Service::of_all_kinds("").await;
    let inputs = json!({ "source_sentence": "hello world", "sentences": ["hello world", "fair wind"] });
    let alike = service.post("/tei/xlm-roberta/similarity", &json!({ "inputs": inputs })).await.json();
    near(&alike[0], 1.0);
    assert!(alike[1].as_f64().unwrap() < 0.99, "{alike}");
    let by_default = service.post("/similarity", &json!({ "inputs": inputs })).await;
    assert_eq!(by_default.status, 200, "{}", by_default.text);
    let long = "hello ".repeat(1000);
    for (source, sentence, part) in [
        ("", "hello", "source_sentence is an empty string"),
        ("hello", "", "input 1 is an empty string"),
        (long.as_str(), "hello", "source_sentence: it has"),
        ("hello", long.as_str(), "input 1: it has"),
    ] {
        let inputs = json!({ "source_sentence": source, "sentences": ["hello", sentence] });
        let body = json!({ "inputs": inputs, "parameters": { "truncate": false } });
        let refused = service.post("/tei/xlm-roberta/similarity", &body).await;
        let message = refused.assert_error(400, "invalid_request");
        assert!(message.contains(part), "{message}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sentences_alone_count_as_texts() {
    let service = Service::of_all_kinds("max_batch_size = 2\n").await;
    let ask = async |count: usize| {
        let inputs = json!({ "source_sentence": "hello", "sentences": vec!["hello"; count] });
        service.post("/similarity", &json!({ "inputs": inputs })).await
    };
    assert_eq!(ask(2).await.json().as_array().unwrap().len(), 2);
    let message = ask(3).await.assert_error(400, "invalid_request");
    assert!(message.contains("3 inputs are more than the maximum batch size of 2"), "{message}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_have_vectors_and_texts_terms() {
    let service = Service::of_all_kinds("").await;
    let body = json!({ "inputs": ["Hello world", "hello"] });
    let all = service.post("/tei/xlm-roberta/embed_all", &body).await.json();
    let counts: Vec<usize> =
        all.as_array().unwrap().iter().map(|text| text.as_array().unwrap().len()).collect();
    assert_eq!(counts, [4, 3], "special tokens among them");
    assert_eq!(vector(&all[0][0]).len(), 48);
    let sparse = service.post("/embed_sparse", &body).await.json();
    let terms = sparse[0].as_array().unwrap();
    assert!(terms.iter().all(|term| term["value"].as_f64().unwrap() > 0.0), "{terms:?}");
    assert_eq!(terms[0]["index"], 1, "the reference has 0 for term 0");
    near(&terms[0]["value"], 1.498_488_8);
    let long = json!({ "inputs": "hello ".repeat(3000) });
    let cut = service.post("/tei/xlm-roberta/embed_all", &long).await;
    assert_eq!((cut.status, cut.header("x-truncated-inputs")), (200, Some("1")));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_of_token_answers_is_limited() {
    let service = Service::of_all_kinds("token_output_bytes = 1048576\nterms_per_text = 3\n").await;
    let many = json!({ "inputs": vec!["hello"; 2048] });
    let one = json!({ "inputs": "Hello world" });
    for (path, body, part) in [
        ("/tei/xlm-roberta/embed_all", &many, "6144 vectors of 48 numbers"),
        ("/tei/xlm-roberta/embed_all", &many, "such texts with 6"),
        ("/embed_sparse", &one, "more than 3 terms"),
        ("/embed_sparse", &many, "more than 6144 terms"),
    ] {
        let message = service.post(path, body).await.assert_error(413, "payload_too_large");
        assert!(message.contains(part), "{path}: {message}");
        // What is refused or has been read holds no memory.
        let small = service.post("/tei/xlm-roberta/embed_all", &one).await;
        assert_eq!(small.status, 200, "{}", small.text);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn models_do_only_what_they_are_for() {
    let service = Service::of_all_kinds("").await;
    let rerank = json!({ "query": QUERY, "texts": TEXTS });
    let embed = json!({ "inputs": "hello" });
    for (path, body, part) in [
        ("/tei/first/rerank", &rerank, "embeds texts by a table: /embed"),
        ("/tei/xlm-roberta/rerank", &rerank, "embeds texts: /embed, /embed_all"),
        ("/tei/roberta-classes/rerank", &rerank, "has 3 labels; a model that ranks has one"),
        ("/tei/bert-splade/rerank", &rerank, "weighs the terms of texts"),
        ("/tei/bert-cross/embed", &embed, "scores texts and pairs of texts: /rerank, /predict"),
        ("/tei/bert-splade/embed", &embed, "/embed_sparse"),
        ("/tei/first/embed_all", &embed, "by a table"),
        ("/tei/xlm-roberta/embed_sparse", &embed, "it gives nothing else"),
        ("/tei/xlm-roberta/predict", &embed, "is not a classifier"),
        ("/rerank", &json!({ "query": "", "texts": TEXTS }), "query is an empty string"),
        ("/rerank", &json!({ "query": QUERY, "texts": [] }), "the list of inputs is empty"),
        ("/rerank", &json!({ "query": QUERY, "texts": vec!["a"; 5000] }), "maximum batch size"),
    ] {
        let message = service.post(path, body).await.assert_error(400, "invalid_request");
        assert!(message.contains(part), "{path}: {message}");
    }
    let refused = json!({ "query": QUERY, "texts": ["hello ".repeat(200)], "truncate": false });
    let message = service.post("/rerank", &refused).await.assert_error(400, "invalid_request");
    assert!(message.contains("tokens, the limit is 100"), "{message}");
    let cut = json!({ "query": QUERY, "texts": ["hello ".repeat(200)] });
    let answer = service.post("/rerank", &cut).await;
    assert_eq!((answer.status, answer.header("x-truncated-inputs")), (200, Some("1")));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fitting_model_routes_say_so() {
    let service = Service::start("").await;
    for (path, body, part) in [
        ("/rerank", json!({ "query": QUERY, "texts": TEXTS }), "name a cross-encoder with one label"),
        ("/predict", json!({ "inputs": "hello" }), "ForSequenceClassification"),
        ("/embed_sparse", json!({ "inputs": "hello" }), "SpladePooling"),
    ] {
        let message = service.post(path, &body).await.assert_error(400, "invalid_request");
        assert!(message.contains(part) && message.contains("embedding.models"), "{path}: {message}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_pair_names_its_text() {
    let service = Service::of_all_kinds("").await;
    for (path, body) in [
        ("/rerank", r#"{"query":"q","texts":["a","\ud800"]}"#),
        ("/v1/rerank", r#"{"query":"q","documents":["a","\ud800"]}"#),
        ("/v2/rerank", r#"{"query":"q","documents":["a",{"text":"\ud800"}]}"#),
        ("/predict", r#"{"inputs":[["a","b"],["\ud800"]]}"#),
        ("/similarity", r#"{"inputs":{"source_sentence":"a","sentences":["b","\ud800"]}}"#),
        ("/embed_all", r#"{"inputs":["a","\ud800"]}"#),
        ("/embed_sparse", r#"{"inputs":["a","\ud800"]}"#),
    ] {
        let message = service.post_text(path, body).await.assert_error(400, "invalid_request");
        assert!(message.contains("input 1 has half of a surrogate pair"), "{path}: {message}");
    }
    service.stop().await;
}
