//! Tests of opening existing databases, and of rejected arguments.

use super::*;
use crate::sqlite::Sqlite;
use bulkhead_os::damaged_files::DamagedFiles;

#[tokio::test]
async fn tables_with_other_columns_are_refused() {
    let folder = TempDir::new().unwrap();
    let mut raw = raw(&file(&folder)).await;
    sqlx::query("CREATE TABLE invalidated_payload (id BLOB)").execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let refused = Ledger::open(Backend::Sqlite(file(&folder)), options(WINDOW)).await.err();
    assert!(matches!(refused, Some(StorageError::Unavailable(text)) if text.contains("payload_hash")));
}

#[tokio::test]
async fn an_existing_database_is_taken_over() {
    let folder = TempDir::new().unwrap();
    let mut raw = raw(&file(&folder)).await;
    let old = format!(
        "CREATE TABLE captcha_request (id BLOB PRIMARY KEY NOT NULL, request_at INTEGER,
            source_address_hash TEXT NOT NULL, is_whitelisted INTEGER NOT NULL, expires_at INTEGER NOT NULL);
        CREATE TABLE invalidated_payload (id BLOB PRIMARY KEY NOT NULL, payload_hash TEXT NOT NULL,
            expires_at INTEGER NOT NULL);
        INSERT INTO captcha_request VALUES (randomblob(16), NULL, '{0}', 0, {1});
        INSERT INTO invalidated_payload VALUES (randomblob(16), '{0}', {1});",
        id(1),
        now() + 60_000
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(old)).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let ledger = sqlite(&folder).await;
    assert_eq!(ledger.record_visit("shop", &[id(1)], false).await, Ok(Visits { client: 1, site: 0 }));
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    assert_eq!(ledger.claim(&id(1), soon(), 2, false).await, Ok(true));
}

#[tokio::test]
async fn indexes_of_earlier_ledger_are_replaced() {
    let folder = TempDir::new().unwrap();
    let ledger = sqlite(&folder).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    ledger.close().await.unwrap();
    let mut earlier = raw(&file(&folder)).await;
    let create = "DROP INDEX idx_invalidated_payload_hash_bytes_expires_at;
        CREATE INDEX idx_captcha_request_source_address_hash_expires_at
            ON captcha_request (source_address_hash, expires_at);
        CREATE INDEX idx_invalidated_payload_payload_hash_expires_at
            ON invalidated_payload (payload_hash, expires_at);";
    sqlx::raw_sql(create).execute(&mut earlier).await.unwrap();
    earlier.close().await.unwrap();
    let ledger = sqlite(&folder).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    ledger.close().await.unwrap();
    let mut later = raw(&file(&folder)).await;
    let query = "SELECT name FROM sqlite_master
        WHERE type = 'index' AND tbl_name IN ('captcha_request', 'invalidated_payload') AND sql IS NOT NULL
        ORDER BY name";
    let indexes: Vec<String> = sqlx::query_scalar(query).fetch_all(&mut later).await.unwrap();
    let expected =
        ["idx_captcha_request_source_address_expires_at", "idx_invalidated_payload_hash_bytes_expires_at"];
    assert_eq!(indexes, expected);
}

/// Copies the files of a ledger as a killed host leaves them.
fn killed(from: &TempDir) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["ledger.sqlite", "ledger.sqlite-wal"] {
        std::fs::copy(from.path().join(name), folder.path().join(name)).unwrap();
    }
    folder
}

#[tokio::test]
async fn killed_ledger_keeps_what_it_granted() {
    let origin = TempDir::new().unwrap();
    let ledger = sqlite(&origin).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    let ledger = sqlite(&killed(&origin)).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    assert_eq!(ledger.claim(&id(2), soon(), 1, false).await, Ok(true), "it is outstanding");
    assert_eq!(ledger.clock_fault(), None);
}

#[tokio::test]
async fn damaged_ledger_grants_no_earlier_challenge() {
    let origin = TempDir::new().unwrap();
    let ledger = sqlite(&origin).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    for cut in [true, false] {
        let folder = killed(&origin);
        if cut {
            std::fs::write(file(&folder), "").unwrap();
        } else {
            std::fs::write(file(&folder), "no database").unwrap();
            // It has every page, so that SQLite would read the database from it.
            std::fs::remove_file(folder.path().join("ledger.sqlite-wal")).unwrap();
        }
        for _ in 0..2 {
            let ledger = sqlite(&folder).await;
            assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false), "it was spent");
            assert_eq!(ledger.claim(&id(2), soon(), 1, false).await, Ok(false), "it may have been spent");
            ledger.remember_issued(soon(), || Some(id(3)));
            assert_eq!(ledger.claim(&id(3), soon(), 1, false).await, Ok(true), "issued since");
            assert_eq!(ledger.claim(&id(3), soon(), 1, false).await, Ok(false));
            assert!(ledger.clock_fault().unwrap().contains("rows of the ledger were lost"));
            ledger.close().await.unwrap();
            assert!(folder.path().join("ledger.sqlite.damaged").exists());
            std::fs::remove_file(file(&folder)).unwrap();
        }
    }
}

#[tokio::test]
async fn damaged_ledger_in_1970_grants_nothing_earlier() {
    let origin = TempDir::new().unwrap();
    let ledger = sqlite(&origin).await;
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(true));
    let folder = killed(&origin);
    std::fs::write(file(&folder), "no database").unwrap();
    // It has every page, so that SQLite would read the database from it.
    std::fs::remove_file(folder.path().join("ledger.sqlite-wal")).unwrap();
    let (clock, control) = HostClock::movable();
    let since_epoch = clock.unix();
    control.set_back(since_epoch);
    let damaged_files = DamagedFiles::default();
    let options = LedgerOptions { clock, damaged_files: damaged_files.clone(), ..options(WINDOW) };
    let ledger = Ledger::open(Backend::Sqlite(file(&folder)), options).await.unwrap();
    assert!(damaged_files.all().contains_key(&file(&folder)));
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    control.set_ahead(since_epoch);
    assert_eq!(ledger.claim(&id(1), soon(), 1, false).await, Ok(false));
    ledger.remember_issued(soon(), || Some(id(2)));
    assert_eq!(ledger.claim(&id(2), soon(), 1, false).await, Ok(true), "issued since");
}

#[tokio::test]
async fn closed_file_opens_once_it_can() {
    let folder = TempDir::new().unwrap();
    // Not even root opens a folder as a file.
    std::fs::create_dir(file(&folder)).unwrap();
    let opened = Ledger::open_when_reached(Backend::Sqlite(file(&folder)), options(WINDOW)).await;
    assert!(opened.is_err(), "its disk takes files");
    let store = Sqlite::new(&file(&folder), &options(WINDOW));
    assert!(matches!(store.ping().await, Err(StorageError::Unavailable(_))) && !store.is_open());
    std::fs::remove_dir(file(&folder)).unwrap();
    assert_eq!((store.ping().await, store.is_open()), (Ok(()), true));
    store.close().await;
}

#[tokio::test]
async fn arguments_are_checked() {
    let ledger = memory().await;
    let invalid = |refused| matches!(refused, Err(StorageError::Invalid(_)));
    for bad in ["", "abc", &id(1).to_uppercase().replace('0', "A"), &format!("{}\0", &id(1)[1..])] {
        assert!(invalid(ledger.spent(bad).await.map(drop)), "{bad:?}");
        assert!(invalid(ledger.claim(bad, soon(), 1, false).await.map(drop)), "{bad:?}");
        assert!(invalid(ledger.record_failure(bad, soon()).await.map(drop)), "{bad:?}");
        assert!(invalid(ledger.record_visit("shop", &[bad.to_owned()], false).await.map(drop)), "{bad:?}");
    }
    assert!(invalid(ledger.claim(&id(1), soon(), MAX_LIMIT + 1, false).await.map(drop)));
    assert!(invalid(ledger.record_visit("shop", &[], false).await.map(drop)));
    assert!(invalid(ledger.record_visit("", &[id(1)], false).await.map(drop)));
    assert!(invalid(ledger.record_visit("a\0b", &[id(1)], false).await.map(drop)));
}

#[tokio::test]
async fn a_url_is_never_repeated() {
    for url in ["postgres://user:s3cret@127.0.0.1:1/x", "postgres://user:s3cret@:host:bad/x", "s3cret"] {
        let backend = Backend::Postgres(url.into());
        assert!(!format!("{backend:?}").contains("s3cret"));
        let refused = Ledger::open(backend, options(WINDOW)).await.err().unwrap();
        assert!(!format!("{refused} {refused:?}").contains("s3cret"), "{refused}");
    }
}
