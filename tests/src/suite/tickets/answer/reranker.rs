//! A cross-encoder orders what the knowledge base finds.

use super::*;

/// A document that the search finds behind the first of [`DOCUMENTS`], and that the cross-encoder, whose weights are random,
/// prefers by far.
const DOGS: &str =
    r#"{"id": "dogs", "title": "Dogs", "language": "en", "text": "Mooring for dogs costs ten euros."}"#;

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
    import(folder.path(), &format!("{DOCUMENTS}{DOGS}\n"), &[]).await;
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_encoder_chooses_what_is_read() {
    let mut folder = filled().await;
    for (knowledge, title) in [("", "Mooring cost"), ("reranker = \"bert-cross\"", "Dogs")] {
        let config = one_document(folder.path(), knowledge);
        let service = Service { host: TestHost::builder().config(&config).start().await, _folder: folder };
        let reply = service.reply(QUESTION, "harbour", "answer").await;
        assert_eq!(reply["documents"][0]["title"], title, "{reply}");
        let Service { host, _folder } = service;
        host.stop().await;
        folder = _folder;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_use_the_cross_encoder() {
    let folder = filled().await;
    let file = folder.path().join("bulkhead.toml");
    let questions = folder.path().join("questions.jsonl");
    std::fs::write(&questions, json!({ "question": QUESTION, "answers": ["dogs"] }).to_string()).unwrap();
    let place = ["--config", file.to_str().unwrap(), "--data-dir", folder.path().to_str().unwrap(), "--json"];
    for (knowledge, first, recall) in [("", "mooring", 0.0), ("reranker = \"bert-cross\"", "dogs", 1.0)] {
        std::fs::write(&file, one_document(folder.path(), knowledge)).unwrap();
        let found = bulkhead(&[&["kb", "search", QUESTION, "--limit", "1"], &place[..]].concat()).await;
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!((found.as_array().unwrap().len(), &found[0]["document"]), (1, &json!(first)), "{found}");
        let asked = ["kb", "evaluate", questions.to_str().unwrap()];
        let figures: Value = serde_json::from_str(&bulkhead(&[&asked, &place[..]].concat()).await).unwrap();
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
