use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tokio::{sync::Barrier, time::timeout};

use super::toy::*;
use crate::{Error, ImportOptions, KnowledgeBase, Mode};

async fn filled(documents: &[serde_json::Value]) -> Place {
    let place = Place::new();
    place.import(documents, &Toy::new("toy"), ImportOptions::default()).await.unwrap();
    place
}

#[tokio::test]
async fn another_file_in_its_place_is_noticed_by_the_next_search() {
    let place = filled(&town()).await;
    let reader = KnowledgeBase::open(&place.base(), Mode::Read).await.unwrap();
    assert_eq!(ids(&reader, &both("Reisepass")).await.len(), 4);
    // As many imports, by the same model: only the file tells them apart.
    let other = filled(&[document("see", "Strandbad", "Das Strandbad öffnet im Mai.")]).await;
    let before = fs::read(other.base()).unwrap();
    fs::rename(other.base(), place.base()).unwrap();
    assert_eq!(ids(&reader, &both("Strandbad")).await, ["see"]);
    assert_eq!(reader.count().await.unwrap().documents, 1);

    // A copy that is put back.
    place.import(&town(), &Toy::new("toy"), ImportOptions::default()).await.unwrap();
    assert_eq!(ids(&reader, &words("Reisepass")).await, ["pass"]);
    let copy = format!("{}.copy", place.base());
    fs::write(&copy, before).unwrap();
    fs::rename(copy, place.base()).unwrap();
    assert_eq!(ids(&reader, &words("Reisepass")).await, [""; 0]);
    assert_eq!(ids(&reader, &words("Strandbad")).await, ["see"]);
}

#[tokio::test]
async fn a_file_that_is_gone_is_none_and_may_come_back() {
    let place = filled(&town()).await;
    let reader = KnowledgeBase::open(&place.base(), Mode::Read).await.unwrap();
    let away = format!("{}.away", place.base());
    fs::rename(place.base(), &away).unwrap();
    assert!(matches!(reader.search(&words("Reisepass")).await, Err(Error::Missing(_))));
    assert!(matches!(reader.refresh().await, Err(Error::Missing(_))));
    fs::rename(&away, place.base()).unwrap();
    assert_eq!(ids(&reader, &words("Reisepass")).await, ["pass"]);

    fs::rename(place.base(), &away).unwrap();
    let made = [document("see", "Strandbad", "Das Strandbad öffnet im Mai.")];
    place.import(&made, &Toy::new("toy"), ImportOptions::default()).await.unwrap();
    assert_eq!(ids(&reader, &both("Strandbad Reisepass")).await, ["see"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_go_on_while_the_file_is_replaced() {
    let place = filled(&town()).await;
    let reader = Arc::new(KnowledgeBase::open(&place.base(), Mode::Read).await.unwrap());
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
    fs::rename(other.base(), place.base()).unwrap();
    for search in searches {
        search.await.unwrap();
    }
}

#[tokio::test]
async fn a_base_of_an_older_format_says_how_to_import_anew() {
    let place = filled(&town()).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(place.base());
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    for change in [
        "UPDATE knowledge_base SET format = 2",
        "ALTER TABLE knowledge_base DROP COLUMN late_interaction",
        "ALTER TABLE knowledge_passage DROP COLUMN word_vectors",
    ] {
        sqlx::query(change).execute(&mut connection).await.unwrap();
    }
    for mode in [Mode::Read, Mode::Write] {
        let error = KnowledgeBase::open(&place.base(), mode).await.err().unwrap();
        assert!(matches!(error, Error::Format { found: 2, known: 3 }), "{error}");
        assert!(error.to_string().contains("move its file away"), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_with_the_cause_once() {
    let place = Place::new();
    fs::write(place.base(), "Das ist keine Datenbank, nur ein Text.".repeat(50)).unwrap();
    for mode in [Mode::Read, Mode::Write] {
        let error = KnowledgeBase::open(&place.base(), mode).await.err().unwrap();
        let told = format!("the knowledge base's database failed: {}: file is not a database", place.base());
        assert_eq!(error.to_string(), told);
        assert!(std::error::Error::source(&error).is_none());
    }
}
