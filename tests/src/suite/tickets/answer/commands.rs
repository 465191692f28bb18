//! `bulkhead kb` says what a base holds, finds and is worth.

use super::*;

async fn kb(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let config = folder.join("bulkhead.toml");
    std::fs::write(&config, answering(folder, "")).unwrap();
    let place = ["--config", config.to_str().unwrap(), "--data-dir", folder.to_str().unwrap()];
    let launch = Launch::bulkhead(&[&["kb"], arguments, &place].concat()).env("HOME", "/nowhere");
    let finished = launch.finish().await;
    (finished.status.code(), finished.stdout, finished.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_is_described_searched_and_judged() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    answering(folder, "");
    import(folder, DOCUMENTS, &[]).await;
    let (code, info, stderr) = kb(folder, &["info", "--json"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!((&info["documents"], &info["provenance"]["model"]), (&json!(2), &json!("toy")));

    let (code, found, stderr) = kb(folder, &["search", QUESTION, "--json", "--limit", "1"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found[0]["document"], found.as_array().unwrap().len()), (&json!("mooring"), 1));
    let (_, found, _) = kb(folder, &["search", QUESTION]).await;
    assert!(found.contains("Mooring cost") && found.contains("https://port.example/mooring"), "{found}");

    let questions = folder.join("questions.jsonl");
    let lines = [
        json!({ "question": QUESTION, "answers": ["mooring"] }),
        json!({ "question": "Where can I borrow children's books?", "answers": [] }),
    ];
    std::fs::write(&questions, lines.map(|line| line.to_string()).join("\n")).unwrap();
    let questions = questions.to_str().unwrap();
    let arguments =
        ["evaluate", questions, "--json", "--fail-under-recall", "1", "--fail-under-precision", "1"];
    let (code, figures, stderr) = kb(folder, &arguments).await;
    assert_eq!(code, Some(0), "{stderr}");
    let figures: Value = serde_json::from_str(&figures).unwrap();
    assert_eq!(
        (&figures["recall_at_5"], &figures["no_answer_precision"]),
        (&json!(1.0), &json!(1.0)),
        "{figures}"
    );
    let (code, _, stderr) = kb(folder, &["evaluate", questions, "--fail-under-recall", "1.1"]).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("recall@5 is 1.0000, it must be at least 1.1"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_told() {
    let folder = TempDir::new().unwrap();
    let (code, _, stderr) = kb(folder.path(), &["info"]).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("bulkhead kb import"), "{stderr}");
    let (code, _, stderr) = kb(folder.path(), &["import", "/nowhere.jsonl"]).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("/nowhere.jsonl"), "{stderr}");
    assert_eq!(kb(folder.path(), &["import"]).await.0, Some(2));
}
