//! The knowledge base comes, changes and goes while a host serves.

use super::*;

async fn start(folder: TempDir, config: &str) -> Service {
    Service { host: TestHost::builder().config(config).start().await, _folder: folder }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_begin_with_an_import() {
    let folder = TempDir::new().unwrap();
    let config = answering(folder.path(), "");
    let service = start(folder, &config).await;
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert_no_answer(&reply);
    assert!(reply["reason"].as_str().unwrap().contains("knowledge base cannot be searched"), "{reply}");
    import(service._folder.path(), DOCUMENTS, &[]).await;
    bulkhead_tests::host::eventually("the imported base is answered from", async || {
        let reply = service.reply(QUESTION, "harbour", "answer").await;
        reply["documents"][0]["title"] == "Mooring cost"
    })
    .await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_answered_from_at_once() {
    let service = Service::answering("").await;
    assert!(
        service.reply(QUESTION, "harbour", "answer").await["response"].as_str().unwrap().contains("12 EUR")
    );
    let report = import(service._folder.path(), &DOCUMENTS.replace("12 EUR", "15 EUR"), &[]).await;
    assert_eq!(
        (&report["documents"], &report["changed"], &report["embedded"]),
        (&json!(2), &json!(1), &json!(1))
    );
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert!(reply["response"].as_str().unwrap().contains("15 EUR"), "{reply}");
    let rest = DOCUMENTS.lines().nth(1).unwrap();
    assert_eq!(import(service._folder.path(), rest, &[]).await["removed"], 1);
    assert_no_answer(&service.reply(QUESTION, "harbour", "answer").await);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_base_is_answered_from() {
    let service = Service::answering("").await;
    let folder = service._folder.path();
    let (base, away) = (folder.join("knowledge.sqlite"), folder.join("away.sqlite"));
    std::fs::rename(&base, &away).unwrap();
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert_no_answer(&reply);
    assert!(reply["reason"].as_str().unwrap().contains("knowledge base cannot be searched"), "{reply}");

    import(folder, &DOCUMENTS.replace("12 EUR", "15 EUR"), &[]).await;
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert!(reply["response"].as_str().unwrap().contains("15 EUR"), "{reply}");
    // The old one is restored: as many imports by the same model.
    std::fs::rename(&away, &base).unwrap();
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert!(reply["response"].as_str().unwrap().contains("12 EUR"), "{reply}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn base_without_its_model_gives_nothing() {
    let folder = TempDir::new().unwrap();
    let config = answering(folder.path(), "");
    import(folder.path(), DOCUMENTS, &[]).await;
    std::fs::remove_dir_all(folder.path().join("toy")).unwrap();
    // Without a model there is no head either.
    let config = config.replace("heads = {", "# heads = {");
    let service = start(folder, &config).await;
    let reply = service.reply(QUESTION, "harbour", "answer").await;
    assert_no_answer(&reply);
    assert!(reply["reason"].as_str().unwrap().contains("knowledge base cannot be searched"), "{reply}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn base_of_another_model_ends_the_start() {
    let folder = TempDir::new().unwrap();
    let config = answering(folder.path(), "");
    import(folder.path(), DOCUMENTS, &[]).await;
    let other = ToyModel { scale: 2.0, ..ToyModel::default() }.write(folder.path(), "toy");
    head(&other).write(&folder.path().join("head.safetensors")).unwrap();
    let error = TestHost::builder().config(&config).try_start().await.err().unwrap();
    assert!(error.contains("kb import --reembed"), "{error}");
    let (model, data, base) = (folder.path().join("toy"), folder.path().join("cli"), base_url(folder.path()));
    let [model, data] = [&model, &data].map(|path| path.to_str().unwrap());
    let place = ["--model", model, "--base", &base, "--data-dir", data];
    let report = bulkhead(&[&["kb", "import", "--reembed", "--json"], &place[..]].concat()).await;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["embedded"], &report["source"]), (&json!(2), &Value::Null), "{report}");
    let service = start(folder, &config).await;
    assert!(
        service.reply(QUESTION, "harbour", "answer").await["response"].as_str().unwrap().contains("12 EUR")
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn base_of_forbidden_model_is_not_searched() {
    let folder = TempDir::new().unwrap();
    let config = answering(folder.path(), "");
    let other = ToyModel { scale: 2.0, ..ToyModel::default() }.write(folder.path(), "other");
    let config = config.replace("\"]\nheads", &format!("\", {other:?}]\nheads"));
    import(folder.path(), DOCUMENTS, &[]).await;
    let service = start(folder, &config).await;
    let answered = async || {
        service.reply(QUESTION, "harbour", "answer").await["response"].as_str().unwrap().contains("12 EUR")
    };
    assert!(answered().await);
    import_with("other", service._folder.path(), DOCUMENTS, &["--reembed"]).await;
    assert_no_answer(&service.reply(QUESTION, "harbour", "answer").await);
    let error = TestHost::builder().config(&config).try_start().await.err().unwrap();
    assert!(error.contains("slots.answer.models") && error.contains("kb import --reembed"), "{error}");
    import(service._folder.path(), DOCUMENTS, &["--reembed"]).await;
    assert!(answered().await);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_base_ends_the_start() {
    let folder = TempDir::new().unwrap();
    let config = answering(folder.path(), "");
    let wrong = config.replace(&base_url(folder.path()), "sqlite:");
    let error = TestHost::builder().config(&wrong).try_start().await.err().unwrap();
    assert!(error.contains("tickets.knowledge.url") && error.contains("the path of a file"), "{error}");
}
