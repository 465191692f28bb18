//! Tests of refreshing sections.

use std::time::Duration;

use futures_util::future::join_all;
use sqlx::{Connection as _, Executor as _};
use tempfile::TempDir;

use super::{NOW, berlin, collector, fill, open};
use crate::{DatabaseLocation, Demo, Section};

const HOUR: Duration = Duration::from_secs(3600);

fn attempts(collector: &crate::Collector, section: Section) -> (u64, u64) {
    let collections = collector.collections();
    let found = collections.iter().find(|collection| collection.section == section).unwrap();
    (found.successes, found.failures)
}

#[tokio::test]
async fn a_hundred_callers_collect_once() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("appointments.sqlite");
    fill(&file, "").await;
    let collector = collector(&file, HOUR, HOUR);
    join_all((0..100).map(|_| collector.refresh(true))).await;
    for section in Section::ALL {
        assert_eq!(attempts(&collector, section), (1, 0), "{}", section.as_str());
    }
    assert_eq!(collector.snapshot(true).serials().len(), Section::ALL.len());
    assert_eq!(collector.snapshot(false).serials().len(), 4);
}

#[tokio::test]
async fn without_statistics_no_large_table_is_read() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("appointments.sqlite");
    fill(&file, "").await;
    let collector = collector(&file, HOUR, HOUR);
    collector.refresh(false).await;
    assert_eq!(attempts(&collector, Section::Mail), (1, 0));
    assert_eq!(attempts(&collector, Section::Processes), (0, 0));
    assert!(collector.figures(true).processes.is_none());
}

#[tokio::test]
async fn poll_shows_rows_added_since_last() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("appointments.sqlite");
    fill(&file, "").await;
    let collector = collector(&file, Duration::ZERO, HOUR);
    for queued in 0..3 {
        collector.refresh(false).await;
        let snapshot = collector.snapshot(false);
        assert_eq!(collector.figures(false).mail.unwrap().queued, queued);
        assert!(snapshot.oldest().unwrap() <= snapshot.newest());
        let mut connection = open(&file).await;
        connection.execute("INSERT INTO mailqueue (createTimestamp, subject) VALUES (0, 'a')").await.unwrap();
        connection.close().await.unwrap();
    }
}

/// The first poll fails; the first one after the pause has figures.
#[tokio::test]
async fn first_poll_after_outage_has_figures() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("appointments.sqlite");
    open(&file).await.close().await.unwrap();
    let collector = collector(&file, Duration::ZERO, HOUR);
    collector.refresh(true).await;
    assert!(collector.figures(true).mail.is_none(), "there are no tables");
    fill(&file, "").await;
    collector.refresh(true).await;
    assert_eq!(collector.snapshot(true).serials().len(), Section::ALL.len());
}

/// Returns a collector that has collected once and then failed at a missing table; it shows a value for `max_age`.
async fn failing(folder: &TempDir, max_age: Duration) -> crate::Collector {
    let file = folder.path().join("appointments.sqlite");
    fill(&file, "").await;
    let collector = collector(&file, Duration::from_millis(1), max_age);
    collector.refresh(true).await;
    let mut connection = open(&file).await;
    connection.execute("ALTER TABLE mailqueue RENAME TO elsewhere").await.unwrap();
    connection.close().await.unwrap();
    eventually("the mail queue is asked again", async || {
        collector.refresh(false).await;
        attempts(&collector, Section::Mail).1 > 0
    })
    .await;
    assert!(attempts(&collector, Section::Mail).0 > 0);
    collector
}

/// Asks until `condition` holds, a minute at most.
async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let holds = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(60), holds).await.is_ok(),
        "not within a minute: {what}"
    );
}

#[tokio::test]
async fn old_figures_are_shown_during_failure() {
    let folder = TempDir::new().unwrap();
    let collector = failing(&folder, HOUR).await;
    assert!(collector.figures(false).mail.is_some(), "the last good value is gone");
}

#[tokio::test]
async fn expired_figures_are_not_shown() {
    let folder = TempDir::new().unwrap();
    let collector = failing(&folder, Duration::from_millis(20)).await;
    eventually("the value is too old", async || collector.figures(false).mail.is_none()).await;
}

#[tokio::test]
async fn same_seed_gives_same_demonstration() {
    let folder = TempDir::new().unwrap();
    let mut figures = Vec::new();
    for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        let file = folder.path().join(name);
        let demo = Demo { rows: 400, seed, now: NOW, clock: berlin() };
        let location = DatabaseLocation::Sqlite(file.clone());
        demo.create(&location).await.unwrap();
        assert!(demo.create(&location).await.is_err(), "an existing file is overwritten");
        let collector = collector(&file, HOUR, HOUR);
        collector.refresh(true).await;
        let found = collector.figures(true);
        let processes = found.processes.unwrap();
        assert_eq!(processes.total, 400);
        assert!(processes.confirmed > 200 && processes.deleted > 0, "{processes:?}");
        let slots = found.slots.unwrap();
        assert!(slots.outdated > Some(0) && slots.free.unwrap() > 100, "{slots:?}");
        assert_eq!(found.mail.unwrap().queued, 14);
        figures.push((processes, slots));
        collector.close().await;
    }
    assert_eq!(figures[0], figures[1]);
    assert_ne!(figures[0], figures[2]);
}
