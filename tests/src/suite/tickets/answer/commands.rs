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
    let harder = folder.join("harder.jsonl");
    let unknown = json!({ "question": QUESTION, "answers": ["a document that is not there"] });
    std::fs::write(&harder, format!("{unknown}\n{}", std::fs::read_to_string(questions).unwrap())).unwrap();
    let (code, _, stderr) =
        kb(folder, &["evaluate", harder.to_str().unwrap(), "--fail-under-recall", "0.6"]).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("recall@5 is 0.5000, it must be at least 0.6"), "{stderr}");
    assert!(stderr.contains("so no search finds them: a document that is not there"), "{stderr}");
    for nothing in ["", " ", "?!"] {
        let (code, _, stderr) = kb(folder, &["search", nothing]).await;
        assert_eq!(code, Some(2), "{nothing:?}: {stderr}");
        assert!(stderr.contains("the question has no word"), "{stderr}");
    }
    for share in ["nan", "-1", "1.1", "90"] {
        for flag in ["--fail-under-recall", "--fail-under-precision"] {
            let (code, _, stderr) = kb(folder, &["evaluate", questions, &format!("{flag}={share}")]).await;
            assert_eq!(code, Some(2), "{flag} {share}: {stderr}");
            assert!(stderr.contains("a share is a number from 0 to 1"), "{stderr}");
        }
    }
    for name in ["", " ", "two\nlines"] {
        let (code, _, stderr) = kb(folder, &["import", questions, "--name", name]).await;
        assert_eq!(code, Some(2), "{name:?}: {stderr}");
        assert!(stderr.contains("read on one line"), "{stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_folders_may_have_equal_names() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    answering(folder, "");
    for (name, text) in [("quay", "Mooring costs 12 EUR a night."), ("lake", "Swimming is free all summer.")]
    {
        std::fs::create_dir(folder.join(name)).unwrap();
        std::fs::write(
            folder.join(name).join("index.md"),
            format!("---\nlanguage: en\n---\n# The {name}\n\n{text}"),
        )
        .unwrap();
        let (code, said, stderr) =
            kb(folder, &["import", folder.join(name).to_str().unwrap(), "--json"]).await;
        assert_eq!(code, Some(0), "{stderr}");
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["added"], &said["removed"]), (&json!(1), &json!(0)), "{said}");
        // Nobody looks at a bar in a log.
        assert!(stderr.contains("1 documents, 1 of 1 passages embedded (100 %)"), "{stderr}");
    }
    for (question, source) in [("What does mooring cost?", "quay"), ("Is swimming free?", "lake")] {
        let (_, found, _) = kb(folder, &["search", question, "--json", "--limit", "1"]).await;
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found[0]["document"], "index.md");
        assert!(found[0]["source"].as_str().unwrap().ends_with(source), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_source_stays_as_imported() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    answering(folder, "");
    let pages = folder.join("pages");
    std::fs::create_dir(&pages).unwrap();
    std::fs::write(
        pages.join("quay.md"),
        "---\nlanguage: en\n---\n# The quay\n\nMooring costs 12 EUR a night.",
    )
    .unwrap();
    std::fs::write(
        pages.join("lake.md"),
        "---\nlanguage: en\n---\n# The lake\n\nSwimming is free all summer.",
    )
    .unwrap();
    let import = ["import", pages.to_str().unwrap()];
    assert_eq!(kb(folder, &import).await.0, Some(0));
    std::fs::write(pages.join("quay.md"), b"# The quay\n\nGr\xf6\xdfe").unwrap();
    std::fs::write(pages.join("new.md"), "---\nurl: javascript:alert(1)\n---\n# New\n\nText.").unwrap();
    let (code, _, stderr) = kb(folder, &import).await;
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("new.md: its url \"javascript:alert(1)\" is not the address of a page"),
        "{stderr}"
    );
    let (code, said, stderr) = kb(folder, &[&import[..], &["--skip-refused"]].concat()).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(said.contains("kept as before quay.md: it is not UTF-8"), "{said}");
    assert!(said.contains("0 removed, 1 left out") && said.contains("left out new.md: "), "{said}");
    let (_, found, _) = kb(folder, &["search", "What does mooring cost?", "--limit", "1"]).await;
    assert!(found.contains("12 EUR"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_base_and_source_are_named() {
    let folder = TempDir::new().unwrap();
    let (code, _, stderr) = kb(folder.path(), &["info"]).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("bulkhead kb import"), "{stderr}");
    let (code, _, stderr) = kb(folder.path(), &["import", "--reembed"]).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("make one with `bulkhead kb import`"), "{stderr}");
    assert!(!folder.path().join("knowledge.sqlite").exists());
    let (code, _, stderr) = kb(folder.path(), &["import", "/nowhere.jsonl"]).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("/nowhere.jsonl"), "{stderr}");
    assert_eq!(kb(folder.path(), &["import"]).await.0, Some(2));
    assert_eq!(kb(folder.path(), &["import", "--reembed", "--name", "port"]).await.0, Some(2));
}
