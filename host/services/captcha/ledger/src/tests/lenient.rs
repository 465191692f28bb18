//! Tests of calls while the database does not answer: refused, or answered from memory.

use super::*;

/// Opens a ledger in a file that accepts no rows, with a connection that can repair it.
async fn broken(folder: &TempDir, lenient: bool) -> (Ledger, SqliteConnection) {
    let backend = Backend::Sqlite(file(folder));
    let ledger = Ledger::open(backend, LedgerOptions { lenient, ..options(WINDOW) }).await.unwrap();
    assert_eq!(ledger.claim(&id(9), soon(), 1, false).await, Ok(true));
    let mut raw = raw(&file(folder)).await;
    for table in ["invalidated_payload", "bulkhead_failure", "captcha_request"] {
        let trigger = format!(
            "CREATE TRIGGER full_{table} BEFORE INSERT ON {table}
            BEGIN SELECT RAISE(FAIL, 'the disk is full'); END"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&mut raw).await.unwrap();
    }
    (ledger, raw)
}

async fn repair(raw: &mut SqliteConnection) {
    sqlx::raw_sql(
        "DROP TRIGGER full_invalidated_payload; DROP TRIGGER full_bulkhead_failure;
        DROP TRIGGER full_captcha_request;",
    )
    .execute(raw)
    .await
    .unwrap();
}

#[tokio::test]
async fn a_ledger_refuses_calls_without_its_database() {
    let folder = TempDir::new().unwrap();
    let (ledger, mut raw) = broken(&folder, false).await;
    let refused = ledger.claim(&id(1), soon(), 1, false).await;
    assert!(matches!(refused, Err(StorageError::Unavailable(_))), "{refused:?}");
    assert!(ledger.record_failure(&id(1), soon()).await.is_err());
    assert_eq!((ledger.granted_without_database(), ledger.is_lenient()), (0, false));
    repair(&mut raw).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
}

#[tokio::test]
async fn a_lenient_ledger_grants_once_from_memory() {
    let folder = TempDir::new().unwrap();
    let (ledger, mut raw) = broken(&folder, true).await;
    assert_eq!(ledger.claim(&id(1), soon(), 2, false).await, Ok(true));
    assert_eq!(ledger.claim(&id(1), soon(), 2, false).await, Ok(true));
    assert_eq!(ledger.claim(&id(1), soon(), 2, false).await, Ok(false));
    assert_eq!(ledger.spent(&id(1)).await, Ok(2));
    assert_eq!(ledger.granted_without_database(), 2);
    for failures in 1..4 {
        assert_eq!(ledger.record_failure(&id(2), soon()).await, Ok(failures));
    }
    // Also once the database is back, where it is not on record.
    repair(&mut raw).await;
    assert_eq!(ledger.claim(&id(1), soon(), 2, false).await, Ok(false));
    assert_eq!(ledger.claim(&id(1), soon(), 3, true).await, Ok(true));
    assert_eq!(ledger.spent(&id(1)).await, Ok(3));
    assert_eq!(ledger.claim(&id(1), soon(), 3, false).await, Ok(false));
    assert_eq!(ledger.granted_without_database(), 2, "durable again");
    assert_eq!(ledger.claim(&id(9), soon(), 1, false).await, Ok(false), "spent before");
}

#[tokio::test]
async fn lenient_ledger_counts_unreadable_visits() {
    let folder = TempDir::new().unwrap();
    let (ledger, mut raw) = broken(&folder, true).await;
    sqlx::raw_sql("ALTER TABLE captcha_request RENAME TO elsewhere").execute(&mut raw).await.unwrap();
    for client in 0..3 {
        let visits = ledger.record_visit("shop", &[id(1)], false).await;
        assert_eq!(visits, Ok(Visits { client, site: client }));
    }
}
