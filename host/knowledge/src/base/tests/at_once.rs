//! Tests of two concurrent imports into one file.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::Barrier;

use super::toy::*;
use crate::{
    Counts, Embedder, Embedding, Error, ImportOptions, ImportReport, KnowledgeBase, Mode, Provenance, Source,
};

/// A model that blocks an import before its first vectors until as many others have come as far.
struct Together {
    toy: Toy,
    started: Arc<Barrier>,
}

impl Embedder for Together {
    fn provenance(&self) -> Provenance {
        self.toy.provenance()
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, String>> {
        Box::pin(async move {
            if self.toy.count() == 0 {
                let _ = tokio::time::timeout(Duration::from_secs(3), self.started.wait()).await;
            }
            self.toy.embed(texts).await
        })
    }
}

/// Imports hundred documents of `name` as a process of its own would.
fn import(fixture: &Fixture, name: &str, started: Arc<Barrier>) -> Result<ImportReport, Error> {
    let path = std::path::Path::new(&fixture.base()).with_file_name(format!("{name}.jsonl"));
    let documents: Vec<_> = (0..100)
        .map(|n| document(&format!("d{n}"), &format!("{name} {n}"), &format!("Von {name}.")))
        .collect();
    write(&path, &documents);
    let options = ImportOptions { name: Some(name.into()), ..ImportOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let model = Together { toy: Toy::new("toy"), started };
        let base = KnowledgeBase::open(&fixture.base(), Mode::Write).await?;
        base.import(Source::Lines(path), &model, options, &RecordedProgress::default()).await
    })
}

#[tokio::test]
async fn concurrent_import_is_refused_without_loss() {
    for _ in 0..5 {
        let (fixture, started) = (Fixture::new(), Arc::new(Barrier::new(2)));
        let (left, right) = std::thread::scope(|scope| {
            let left = scope.spawn(|| import(&fixture, "links", Arc::clone(&started)));
            let right = scope.spawn(|| import(&fixture, "rechts", Arc::clone(&started)));
            (left.join().unwrap(), right.join().unwrap())
        });
        let (refused, again) = match (left, right) {
            (Err(refused), Ok(_)) => (refused, "links"),
            (Ok(_), Err(refused)) => (refused, "rechts"),
            both => panic!("{both:?}"),
        };
        assert!(matches!(refused, Error::Changed), "{refused}");
        let base = fixture.open().await;
        assert_eq!(base.count().await.unwrap(), Counts { sources: 1, documents: 100, passages: 100 });
        // What it has embedded is kept.
        let alone = Arc::new(Barrier::new(1));
        let report = std::thread::scope(|scope| scope.spawn(|| import(&fixture, again, alone)).join());
        let report = report.unwrap().unwrap();
        assert_eq!((report.added, report.embedded, report.resumed), (100, 0, 100));
        assert_eq!(base.count().await.unwrap(), Counts { sources: 2, documents: 200, passages: 200 });
    }
}

#[tokio::test]
async fn second_writer_is_refused_as_busy() {
    let fixture = Fixture::new();
    fixture.import(&town(), &Toy::new("toy"), ImportOptions::default()).await.unwrap();
    let options = SqliteConnectOptions::new().filename(fixture.base()).busy_timeout(Duration::ZERO);
    let (mut one, mut another) = (options.connect().await.unwrap(), options.connect().await.unwrap());
    let _writes = one.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let refused = Error::from(another.begin_with("BEGIN IMMEDIATE").await.unwrap_err());
    assert_eq!(
        refused.to_string(),
        "the knowledge base is being written by another import: try again when it is done"
    );
}
