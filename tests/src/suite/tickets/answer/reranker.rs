//! A cross-encoder that orders what the knowledge base finds is checked at the start.

use super::*;

/// A host's configuration that reads one document for an answer; `knowledge` goes below `[tickets.knowledge]`.
fn one_document(folder: &Path, knowledge: &str) -> String {
    let cross = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/inference/tests/golden/bert-cross");
    let models = format!("\", {cross:?}]\nheads");
    let knowledge = format!("floor_percent = 0\nlimit = 1\n{knowledge}");
    answering(folder, "").replace("\"]\nheads", &models).replace("floor_percent = 10", &knowledge)
}

#[tokio::test(flavor = "multi_thread")]
async fn model_that_ranks_nothing_ends_start() {
    let folder = TempDir::new().unwrap();
    one_document(folder.path(), "");
    import(folder.path(), DOCUMENTS, &[]).await;
    for (name, words) in
        [("toy", "name a cross-encoder with one label"), ("none", "there is no model `none`")]
    {
        let config = one_document(folder.path(), &format!("reranker = {name:?}"));
        let error = TestHost::builder().config(&config).try_start().await.err().unwrap();
        assert!(error.contains("tickets.knowledge.reranker: ") && error.contains(words), "{error}");
    }
}
