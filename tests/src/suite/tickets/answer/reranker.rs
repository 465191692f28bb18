//! A cross-encoder orders what the knowledge base finds.

use super::*;

/// A document that the search finds behind the first of [`DOCUMENTS`], which has more of the question's words, and, where
/// both are alike, the smaller id. The cross-encoder, whose weights are random, gives -0.64 to this one and -1.09 and
/// -1.08 to those.
const PRICES: &str = r#"{"id": "prices", "title": "Prices", "language": "en", "text": "Mooring costs 14 EUR a night. Dogs must be registered."}"#;

/// A host's configuration that reads one document for an answer; `knowledge` goes below `[tickets.knowledge]`.
fn one_document(folder: &Path, knowledge: &str) -> String {
    let cross = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/inference/tests/golden/bert-cross");
    let models = format!("\", {cross:?}]\nheads");
    let knowledge = format!("floor_percent = 0\nlimit = 1\n{knowledge}");
    answering(folder, "").replace("\"]\nheads", &models).replace("floor_percent = 10", &knowledge)
}

/// A folder with a base of three documents.
async fn filled() -> TempDir {
    let folder = TempDir::new().unwrap();
    one_document(folder.path(), "");
    import(folder.path(), &format!("{DOCUMENTS}{PRICES}\n"), &[]).await;
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_encoder_chooses_what_is_read() {
    let folder = filled().await;
    for (knowledge, title, price) in
        [("", "Mooring cost", "12 EUR"), ("reranker = \"bert-cross\"", "Prices", "14 EUR")]
    {
        let service = Service::with(&one_document(folder.path(), knowledge)).await;
        let reply = service.reply(QUESTION, "harbour", "answer").await;
        assert_eq!(reply["documents"][0]["title"], title, "{reply}");
        assert!(reply["response"].as_str().unwrap().contains(price), "{reply}");
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_use_the_cross_encoder() {
    let folder = filled().await;
    let file = folder.path().join("bulkhead.toml");
    let questions = folder.path().join("questions.jsonl");
    std::fs::write(&questions, json!({ "question": QUESTION, "answers": ["prices"] }).to_string()).unwrap();
    let place = ["--config", file.to_str().unwrap(), "--data-dir", folder.path().to_str().unwrap(), "--json"];
    for (knowledge, first, recall) in [("", "mooring", 0.0), ("reranker = \"bert-cross\"", "prices", 1.0)] {
        std::fs::write(&file, one_document(folder.path(), knowledge)).unwrap();
        let found = bulkhead(&[&["kb", "search", QUESTION, "--limit", "1"], &place[..]].concat()).await;
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!((found.as_array().unwrap().len(), &found[0]["document"]), (1, &json!(first)), "{found}");
        let asked = ["kb", "evaluate", questions.to_str().unwrap()];
        let figures = bulkhead(&[&asked[..], &place[..]].concat()).await;
        let figures: Value = serde_json::from_str(&figures).unwrap();
        assert_eq!(figures["recall_at_1"], recall, "{figures}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn model_that_ranks_nothing_ends_start() {
    let folder = filled().await;
    for (name, words) in
        [("toy", "name a cross-encoder with one label"), ("none", "there is no model `none`")]
    {
        let config = one_document(folder.path(), &format!("reranker = {name:?}"));
        let error = TestHost::builder().config(&config).try_start().await.err().unwrap();
        assert!(error.contains("tickets.knowledge.reranker: ") && error.contains(words), "{error}");
    }
}
