//! Tests of sweeps and figures.

use super::*;
use crate::memory::Memory;
use crate::records::{Claim, Id, Visit, Window};
use crate::sqlite::Sqlite;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

#[tokio::test]
async fn a_sweep_deletes_exactly_what_expired() {
    let folder = TempDir::new().unwrap();
    // Without the ledger's own sweep at the start.
    let store = Sqlite::open(&file(&folder), &options(WINDOW)).await.unwrap();
    let mut raw = raw(&file(&folder)).await;
    for expires_at in [1, now() + 600_000] {
        let rows = format!(
            "INSERT INTO captcha_request (id, source_address_hash, is_whitelisted, expires_at)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
            SELECT randomblob(16), '{0}', 0, {expires_at} FROM n;
            INSERT INTO invalidated_payload VALUES (randomblob(16), '{0}', {expires_at});
            INSERT INTO bulkhead_failure VALUES ('{1}', 1, {expires_at});
            INSERT INTO bulkhead_site_visits VALUES ('shop', {expires_at}, 7);",
            id(1),
            id(expires_at.cast_unsigned())
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(rows)).execute(&mut raw).await.unwrap();
    }
    let swept = Swept { captcha_request: 2500, invalidated_payload: 1, failures: 1, site_visits: 1 };
    assert_eq!(store.sweep(now()).await, Ok(swept));
    assert_eq!(store.sweep(now()).await, Ok(Swept::default()));
    let left = Rows { captcha_request: 2500, invalidated_payload: 1 };
    assert_eq!(store.rows(now()).await, Ok(left));
    let window = Window { length: 600_000, bucket: 10_000 };
    assert_eq!(store.visits("shop", &[id(1)], now(), window).await, Ok(Visits { client: 2500, site: 7 }));
}

#[tokio::test]
async fn the_ledger_sweeps_at_the_start() {
    let folder = TempDir::new().unwrap();
    sqlite(&folder).await.close().await.unwrap();
    let mut raw = raw(&file(&folder)).await;
    sqlx::query("INSERT INTO bulkhead_site_visits VALUES ('shop', 1, 7)").execute(&mut raw).await.unwrap();
    let _ledger = sqlite(&folder).await;
    for _ in 0..500 {
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM bulkhead_site_visits")
            .fetch_one(&mut raw)
            .await
            .unwrap();
        if rows == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the expired row is still there");
}

#[test]
fn memory_is_swept() {
    let memory = Memory::default();
    let visit = |expires_at| {
        Arc::new(Visit {
            id: Uuid::new_v4(),
            site: "shop".into(),
            client: id(1),
            allow_listed: false,
            at: 0,
            since: Instant::now(),
            expires_at,
            bucket: expires_at,
        })
    };
    memory.write(&[visit(10), visit(10), visit(20)]).unwrap();
    let id = Id::parse(&id(1)).unwrap();
    let claim = Claim { id, expires_at: 20, now: 0, limit: 2, spends: 2, issued_here: false };
    assert_eq!(memory.claim(&claim), Ok(2));
    let swept = Swept { captcha_request: 2, site_visits: 1, ..Swept::default() };
    assert_eq!(memory.sweep(11), swept);
    assert_eq!(memory.rows(11), Rows { captcha_request: 1, invalidated_payload: 2 });
    assert_eq!(memory.sweep(21).invalidated_payload, 2);
}

#[tokio::test]
async fn rows_are_counted_beside_the_requests() {
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    ledger.claim(&id(1), soon(), 3, true).await.unwrap();
    ledger.record_visit("shop", &[id(1)], false).await.unwrap();
    ledger.close().await.unwrap();
    let ledger = sqlite(&folder).await;
    for _ in 0..500 {
        if ledger.rows() != Rows::default() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ledger.rows(), Rows { captcha_request: 1, invalidated_payload: 3 });
    ledger.claim(&id(2), soon(), 1, false).await.unwrap();
    ledger.record_visit("shop", &[id(1)], false).await.unwrap();
    assert_eq!(ledger.rows(), Rows { captcha_request: 2, invalidated_payload: 4 });
    let stats = ledger.pool_stats();
    assert_eq!((stats.max, stats.pending, stats.timeouts), (4, 0, 0));
    assert!(stats.size >= 1 && stats.acquire.count >= 1 && stats.usage.count >= 1, "{stats:?}");
}

#[tokio::test]
async fn probe_reports_whether_writes_work() {
    const FULL: [&str; 2] = ["bulkhead_failure", "captcha_request"];
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    let mut raw = raw(&file(&folder)).await;
    assert_eq!(ledger.probe().await, Ok(()));
    for table in FULL {
        let trigger = format!(
            "CREATE TRIGGER full BEFORE INSERT ON {table} BEGIN SELECT RAISE(FAIL, 'the disk is full'); END"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&mut raw).await.unwrap();
        ledger.record_visit("shop", &[id(1)], false).await.unwrap();
        assert!(eventually(async || ledger.probe().await.is_err()).await, "{table}");
        assert_eq!(ledger.ping().await, Ok(()), "reading goes on");
        sqlx::raw_sql("DROP TRIGGER full").execute(&mut raw).await.unwrap();
        assert!(eventually(async || ledger.probe().await.is_ok()).await, "{table}");
    }
}

#[tokio::test]
async fn probe_counts_for_no_challenge() {
    for ledger in [memory().await, sqlite(&TempDir::new().unwrap()).await] {
        ledger.probe().await.unwrap();
        assert_eq!(ledger.record_failure(&id(1), soon()).await, Ok(1));
        assert_eq!(ledger.rows(), Rows::default());
    }
}
