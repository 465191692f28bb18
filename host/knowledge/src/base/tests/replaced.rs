//! Tests of replaced database files.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tokio::{sync::Barrier, time::timeout};

use super::toy::*;
use crate::{Error, ImportOptions, KnowledgeBase, Mode};

async fn filled(documents: &[serde_json::Value]) -> Fixture {
    let fixture = Fixture::new();
    fixture.import(documents, &Toy::new("toy"), ImportOptions::default()).await.unwrap();
    fixture
}

#[tokio::test]
async fn replaced_file_is_noticed_by_next_search() {
    let fixture = filled(&town()).await;
    let reader = KnowledgeBase::open(&fixture.base(), Mode::Read).await.unwrap();
    assert_eq!(ids(&reader, &both("Reisepass")).await.len(), 4);
    // As many imports, by the same model: only the file tells them apart.
    let other = filled(&[document("see", "Strandbad", "Das Strandbad öffnet im Mai.")]).await;
    let before = fs::read(other.base()).unwrap();
    fs::rename(other.base(), fixture.base()).unwrap();
    assert_eq!(ids(&reader, &both("Strandbad")).await, ["see"]);
    assert_eq!(reader.count().await.unwrap().documents, 1);

    // A copy that is put back.
    fixture.import(&town(), &Toy::new("toy"), ImportOptions::default()).await.unwrap();
    assert_eq!(ids(&reader, &words("Reisepass")).await, ["pass"]);
    let copy = format!("{}.copy", fixture.base());
    fs::write(&copy, before).unwrap();
    fs::rename(copy, fixture.base()).unwrap();
    assert_eq!(ids(&reader, &words("Reisepass")).await, [""; 0]);
    assert_eq!(ids(&reader, &words("Strandbad")).await, ["see"]);
}

#[tokio::test]
async fn missing_file_fails_until_it_returns() {
    let fixture = filled(&town()).await;
    let reader = KnowledgeBase::open(&fixture.base(), Mode::Read).await.unwrap();
    let away = format!("{}.away", fixture.base());
    fs::rename(fixture.base(), &away).unwrap();
    assert!(matches!(reader.search(&words("Reisepass")).await, Err(Error::Missing(_))));
    assert!(matches!(reader.refresh().await, Err(Error::Missing(_))));
    fs::rename(&away, fixture.base()).unwrap();
    assert_eq!(ids(&reader, &words("Reisepass")).await, ["pass"]);

    fs::rename(fixture.base(), &away).unwrap();
    let made = [document("see", "Strandbad", "Das Strandbad öffnet im Mai.")];
    fixture.import(&made, &Toy::new("toy"), ImportOptions::default()).await.unwrap();
    assert_eq!(ids(&reader, &both("Strandbad Reisepass")).await, ["see"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_continue_while_file_is_replaced() {
    let fixture = filled(&town()).await;
    let reader = Arc::new(KnowledgeBase::open(&fixture.base(), Mode::Read).await.unwrap());
    let (patience, searching) = (Duration::from_secs(60), Arc::new(Barrier::new(9)));
    let searches: Vec<_> = (0..8)
        .map(|_| {
            let (reader, searching) = (Arc::clone(&reader), Arc::clone(&searching));
            tokio::spawn(async move {
                let found = async || ids(&reader, &both("Strandbad")).await.contains(&"see".to_owned());
                assert!(!found().await, "the base is the one before");
                searching.wait().await;
                let replaced = async { while !found().await {} };
                timeout(patience, replaced).await.expect("the new base is found");
            })
        })
        .collect();
    let other = filled(&[document("see", "Strandbad", "Das Strandbad öffnet im Mai.")]).await;
    timeout(patience, searching.wait()).await.expect("every search has begun");
    fs::rename(other.base(), fixture.base()).unwrap();
    for search in searches {
        search.await.unwrap();
    }
}

#[tokio::test]
async fn other_format_error_names_the_remedy() {
    let fixture = filled(&town()).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(fixture.base());
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    for change in [
        "UPDATE knowledge_base SET format = 2",
        "ALTER TABLE knowledge_base DROP COLUMN late_interaction",
        "ALTER TABLE knowledge_passage DROP COLUMN word_vectors",
        "ALTER TABLE knowledge_passage DROP COLUMN item_vectors",
    ] {
        sqlx::query(change).execute(&mut connection).await.unwrap();
    }
    for mode in [Mode::Read, Mode::Write] {
        let error = KnowledgeBase::open(&fixture.base(), mode).await.err().unwrap();
        assert!(matches!(error, Error::Format { found: 2, known: 4 }), "{error}");
        assert!(error.to_string().contains("move its file away"), "{error}");
    }
    sqlx::query("UPDATE knowledge_base SET format = 5").execute(&mut connection).await.unwrap();
    let error = KnowledgeBase::open(&fixture.base(), Mode::Read).await.err().unwrap();
    assert!(matches!(error, Error::Newer { found: 5, known: 4 }), "{error}");
    assert!(error.to_string().ends_with("use the version that wrote it"), "{error}");
}

#[tokio::test]
async fn invalid_database_file_is_named_once() {
    let fixture = Fixture::new();
    fs::write(fixture.base(), "Das ist keine Datenbank, nur ein Text.".repeat(50)).unwrap();
    for mode in [Mode::Read, Mode::Write] {
        let error = KnowledgeBase::open(&fixture.base(), mode).await.err().unwrap();
        let expected =
            format!("the knowledge base's database failed: {}: file is not a database", fixture.base());
        assert_eq!(error.to_string(), expected);
        assert!(std::error::Error::source(&error).is_none());
    }
}
