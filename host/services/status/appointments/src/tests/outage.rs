//! Tests of collections while the database is slow or fails.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{collector, fill};
use crate::{
    CollectError, DatabaseLocation, Mail, Section,
    connection::Connections,
    section::{Cell, Collected, CollectionGuard, CollectionStart, Due},
};

const NEVER: Duration = Duration::from_secs(3600);

fn mail() -> Result<Collected, CollectError> {
    Ok(Collected::Mail(Mail { queued: 0, oldest_seconds: None, newest_seconds: None }))
}

fn down() -> Result<Collected, CollectError> {
    Err(CollectError::Failed("down".into()))
}

fn collected(cell: &Arc<Cell>, now: Instant) -> (CollectionGuard, Duration) {
    match cell.due(now) {
        Due::Collect(guard, wait) => (guard, wait),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_collection_is_waited_for_by_everybody() {
    let cell = Cell::new(Section::Mail, Duration::ZERO, NEVER);
    let (guard, first) = collected(&cell, Instant::now());
    assert!(matches!(cell.due(Instant::now()), Due::Join(_, wait) if wait == first));
    guard.end(mail(), CollectionStart::now());
    let (_guard, second) = collected(&cell, Instant::now());
    assert!(
        second < first && second < Duration::from_secs(1),
        "{second:?}: older figures can be shown meanwhile"
    );
}

/// Within the pause after a failure a poll gets the present figures; the first one after it collects.
#[test]
fn the_first_poll_past_a_failure_collects() {
    let cell = Cell::new(Section::Mail, Duration::from_secs(60), NEVER);
    let (guard, first) = collected(&cell, Instant::now());
    guard.end(down(), CollectionStart::now());
    let ended = Instant::now();
    assert!(matches!(cell.due(ended), Due::Nothing));
    let (_guard, wait) = collected(&cell, ended + Duration::from_secs(5));
    assert_eq!(wait, first, "nothing can be shown, so it is waited for");
}

/// A poll as often as the time to live, which comes a little early or late.
#[test]
fn poll_at_time_to_live_collects() {
    let cell = Cell::new(Section::Mail, Duration::from_secs(60), NEVER);
    let began = CollectionStart::now();
    collected(&cell, began.since).0.end(mail(), began);
    let due = |after: u64| !matches!(cell.due(began.since + Duration::from_secs(after)), Due::Nothing);
    assert_eq!([0, 30, 56].map(due), [false; 3]);
    assert!(due(58), "a poll that comes early shows the figures of the one before");
}

/// Slower than the time to live: the pause between two collections is as long as a collection.
#[test]
fn slow_collection_is_followed_by_pause() {
    let cell = Cell::new(Section::Processes, Duration::from_secs(4), NEVER);
    let began = CollectionStart::now();
    let (guard, _) = collected(&cell, began.since);
    guard.end(
        mail(),
        CollectionStart { since: began.since.checked_sub(Duration::from_secs(10)).unwrap(), ..began },
    );
    let ended = Instant::now();
    assert!(matches!(cell.due(ended), Due::Nothing));
    collected(&cell, ended + Duration::from_secs(4));
}

#[tokio::test]
async fn unreachable_server_fails_without_showing_password() {
    // Nothing listens on port 1.
    for location in [
        DatabaseLocation::MariaDb("mysql://u:swordfish@127.0.0.1:1/zms".into()),
        DatabaseLocation::Postgres("postgres://u:swordfish@127.0.0.1:1/zms".into()),
    ] {
        let connections = Connections::new(&location, Duration::from_secs(1)).unwrap();
        for _ in 0..2 {
            let error = connections.rows("SELECT 1", &[], &[]).await.unwrap_err();
            let CollectError::Unreachable(text) = &error else { panic!("{error:?}") };
            assert!(text.contains("refused") && !text.contains("swordfish"), "{text}");
        }
    }
}

/// More queries run at once than there are connections, which are returned each time.
#[tokio::test]
async fn connections_are_few_and_used_again() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("a.sqlite");
    fill(&file, "").await;
    let accounts = collector(&file, NEVER, NEVER).accounts();
    let ask = || accounts.has_session("key");
    for _ in 0..3 {
        let (a, b, c, d, e) = tokio::join!(ask(), ask(), ask(), ask(), ask());
        assert_eq!([a, b, c, d, e], [const { Ok(false) }; 5]);
    }
    assert_eq!(accounts.password_hash("a\0b").await, Ok(None));
}
