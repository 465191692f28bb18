//! Tests of counting and writing visits.

use super::*;

#[tokio::test]
async fn visits_count_across_client_keys_and_sites() {
    let folder = TempDir::new().unwrap();
    for ledger in [sqlite(&folder).await, memory().await] {
        let (old, new, third) = ([id(1)].to_vec(), [id(2), id(1), id(2)].to_vec(), [id(3)].to_vec());
        let visit = |client, site| ledger.record_visit(site, client, false);
        assert_eq!(visit(&old, "one").await, Ok(Visits { client: 0, site: 0 }));
        assert_eq!(visit(&old, "two").await, Ok(Visits { client: 1, site: 0 }));
        assert_eq!(visit(&new, "one").await, Ok(Visits { client: 2, site: 1 }));
        assert_eq!(visit(&old, "one").await, Ok(Visits { client: 2, site: 2 }));
        // The same once they are written.
        ledger.flush_visits().await;
        assert_eq!(visit(&new, "one").await, Ok(Visits { client: 4, site: 3 }));
        assert_eq!(visit(&third, "two").await, Ok(Visits { client: 0, site: 1 }));
        ledger.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_visits_are_all_counted() {
    let folder = TempDir::new().unwrap();
    for ledger in [sqlite(&folder).await, memory().await] {
        // Past the size of a batch and the number that makes a client busy.
        let tasks: Vec<_> = (0..3000)
            .map(|_| {
                let ledger = ledger.clone();
                tokio::spawn(async move { ledger.record_visit("shop", &[id(1)], false).await.unwrap() })
            })
            .collect();
        let mut seen = Vec::new();
        for task in tasks {
            seen.push(task.await.unwrap());
        }
        seen.sort_by_key(|visits| visits.client);
        for (place, visits) in seen.iter().enumerate() {
            assert_eq!(visits.client, place as u64);
            assert_eq!(visits.site, place as u64);
        }
        ledger.flush_visits().await;
        let visits = ledger.record_visit("shop", &[id(1)], false).await.unwrap();
        assert_eq!(visits, Visits { client: 3000, site: 3000 });
    }
}

#[tokio::test]
async fn a_visit_counts_for_the_window_only() {
    let folder = TempDir::new().unwrap();
    for backend in [Backend::Sqlite(file(&folder)), Backend::Memory] {
        let (ledger, control) = movable(backend).await;
        let visit = async || {
            let visits = ledger.record_visit("shop", &[id(1)], false).await;
            ledger.flush_visits().await;
            visits
        };
        assert_eq!(visit().await, Ok(Visits::default()));
        control.advance(WINDOW - Duration::from_secs(60));
        assert_eq!(visit().await.unwrap().client, 1);
        control.advance(Duration::from_secs(120));
        assert_eq!(visit().await.unwrap().client, 1);
        control.advance(WINDOW + Duration::from_secs(120));
        assert_eq!(visit().await, Ok(Visits::default()));
    }
}

#[tokio::test]
async fn visits_of_fast_clock_end() {
    let folder = TempDir::new().unwrap();
    for backend in [Backend::Sqlite(file(&folder)), Backend::Memory] {
        let (ledger, control) = movable(backend).await;
        let visit = async || ledger.record_visit("shop", &[id(1)], false).await;
        control.set_ahead(DECADE);
        for before in 0..5 {
            assert_eq!(visit().await.unwrap().client, before);
        }
        ledger.flush_visits().await;
        control.set_back(DECADE);
        assert_eq!(visit().await, Ok(Visits::default()), "they do not count for ten years");
    }
}

#[tokio::test]
async fn jump_ahead_and_back_keeps_counts() {
    let folder = TempDir::new().unwrap();
    let (ledger, control) = movable(Backend::Sqlite(file(&folder))).await;
    let visit = async |client: u64| {
        let visits = ledger.record_visit("shop", &[id(client)], false).await.unwrap();
        ledger.flush_visits().await;
        visits
    };
    for before in 0..3 {
        assert_eq!(visit(1).await, Visits { client: before, site: before });
    }
    control.set_ahead(3 * WINDOW);
    assert_eq!(visit(2).await, Visits::default());
    control.set_back(3 * WINDOW);
    assert_eq!(visit(1).await, Visits { client: 3, site: 3 }, "they are read from the database");
    assert_eq!(visit(1).await, Visits { client: 4, site: 4 });
}

#[tokio::test]
async fn restarted_ledger_counts_written_visits() {
    let folder = TempDir::new().unwrap();
    for start in 0..3 {
        let ledger = sqlite(&folder).await;
        for client in 1..4 {
            let visits = ledger.record_visit("shop", &[id(client)], false).await.unwrap();
            assert_eq!(visits, Visits { client: start, site: 3 * start + client - 1 });
        }
        ledger.close().await.unwrap();
    }
}

#[tokio::test]
async fn closing_writes_visits_and_refuses_calls() {
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    ledger.record_visit("shop", &[id(1)], true).await.unwrap();
    ledger.close().await.unwrap();
    ledger.close().await.unwrap();
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Err(StorageError::closed()));
    assert_eq!(ledger.ping().await, Err(StorageError::closed()));
    let mut raw = raw(&file(&folder)).await;
    let (hash, allow_listed, lasts): (String, bool, i64) = sqlx::query_as(
        "SELECT source_address_hash, is_whitelisted, expires_at - request_at FROM captcha_request",
    )
    .fetch_one(&mut raw)
    .await
    .unwrap();
    assert_eq!((hash, allow_listed, lasts), (id(1), true, 1_800_000));
    let ledger = sqlite(&folder).await;
    assert_eq!(ledger.record_visit("shop", &[id(1)], false).await, Ok(Visits { client: 1, site: 1 }));
}

#[tokio::test]
async fn dropping_writes_visits_too() {
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    ledger.record_visit("shop", &[id(1)], true).await.unwrap();
    drop(ledger);
    let mut raw = raw(&file(&folder)).await;
    let mut rows = 0i64;
    for _ in 0..500 {
        rows = sqlx::query_scalar("SELECT count(*) FROM captcha_request").fetch_one(&mut raw).await.unwrap();
        if rows == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(rows, 1);
}
