//! Tests of what a start makes of files after a power cut.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{collections::BTreeMap, time::UNIX_EPOCH};

use sqlx::sqlite::SqliteJournalMode;
use tempfile::TempDir;

use super::*;

fn options(folder: &TempDir) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(folder.path().join("a.sqlite"))
        .journal_mode(SqliteJournalMode::Wal)
        .create_if_missing(true)
}

fn file(folder: &TempDir, suffix: &str) -> PathBuf {
    beside(&folder.path().join("a.sqlite"), suffix)
}

/// Leaves a file as a killed host does: with a thousand rows, of which the log deletes a hundred.
async fn killed(folder: &TempDir) {
    let origin = TempDir::new().unwrap();
    let mut connection = options(&origin).connect().await.unwrap();
    let rows = "CREATE TABLE row (text TEXT);
        INSERT INTO row WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            SELECT hex(randomblob(100)) FROM n;";
    sqlx::raw_sql(rows).execute(&mut connection).await.unwrap();
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await.unwrap();
    sqlx::raw_sql("DELETE FROM row WHERE rowid <= 100").execute(&mut connection).await.unwrap();
    for suffix in ["", LOG] {
        fs::copy(file(&origin, suffix), file(folder, suffix)).unwrap();
    }
    connection.close().await.unwrap();
}

/// Sets the file aside if it is damaged.
async fn inspected(folder: &TempDir) -> Result<Option<SystemTime>, sqlx::Error> {
    set_damaged_aside(&options(folder), &DamagedFiles::default()).await
}

async fn count(folder: &TempDir) -> i64 {
    let mut connection = options(folder).connect().await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM row").fetch_one(&mut connection).await.unwrap()
}

fn cut(path: &Path, to: u64) {
    File::options().write(true).open(path).unwrap().set_len(to).unwrap();
}

#[tokio::test]
async fn intact_or_missing_file_stays() {
    let folder = TempDir::new().unwrap();
    assert_eq!(inspected(&folder).await.unwrap(), None);
    killed(&folder).await;
    assert_eq!(inspected(&folder).await.unwrap(), None);
    assert_eq!(count(&folder).await, 900);
    assert!(!file(&folder, ".damaged").exists());
}

#[test]
fn log_or_hot_journal_is_unfinished() {
    let folder = TempDir::new().unwrap();
    let found = || unfinished(&file(&folder, ""));
    assert_eq!(found(), None);
    for suffix in [LOG, JOURNAL] {
        let beside = file(&folder, suffix);
        for (bytes, is_unfinished) in [("", false), ("changes", true)] {
            fs::write(&beside, bytes).unwrap();
            assert_eq!(found(), is_unfinished.then(|| beside.clone()), "{suffix}: {bytes}");
        }
        fs::remove_file(&beside).unwrap();
    }
    fs::write(file(&folder, JOURNAL), [0; 512]).unwrap();
    assert_eq!(found(), None, "its transaction has ended");
    fs::write(file(&folder, JOURNAL), "changes").unwrap();
    let path = file(&folder, "");
    assert!(unfinished_fault(&path).is_none() && !is_unchanging(&path), "the disk is writable");
}

#[tokio::test]
async fn cut_or_garbled_file_is_set_aside() {
    for damage in ["cut", "halved", "empty", "gone", "zeros", "text"] {
        let folder = TempDir::new().unwrap();
        killed(&folder).await;
        let path = file(&folder, "");
        let length = fs::metadata(&path).unwrap().len();
        match damage {
            "cut" => cut(&path, length - 4096),
            "halved" => cut(&path, length / 2),
            "empty" => cut(&path, 0),
            "gone" => fs::remove_file(&path).unwrap(),
            "zeros" => fs::write(&path, vec![0; usize::try_from(length).unwrap()]).unwrap(),
            _ => fs::write(&path, "no database").unwrap(),
        }
        let recorded = DamagedFiles::default();
        assert!(set_damaged_aside(&options(&folder), &recorded).await.unwrap().is_some(), "{damage}");
        assert!(!path.exists() && !file(&folder, LOG).exists(), "{damage}");
        let aside = file(&folder, if damage == "gone" { ".damaged-wal" } else { ".damaged" });
        assert!(aside.exists(), "{damage}");
        assert_eq!(recorded.all(), BTreeMap::from([(path, aside)]), "{damage}");
    }
}

#[tokio::test]
async fn garbled_log_is_set_aside_alone() {
    for garbled in ["text", "zeros", "header"] {
        let folder = TempDir::new().unwrap();
        killed(&folder).await;
        let mut bytes = fs::read(file(&folder, LOG)).unwrap();
        match garbled {
            "text" => bytes = b"short".to_vec(),
            "zeros" => bytes.fill(0),
            _ => bytes[20] ^= 1,
        }
        fs::write(file(&folder, LOG), &bytes).unwrap();
        assert!(inspected(&folder).await.unwrap().is_some());
        assert_eq!(count(&folder).await, 1000, "what was in the log is lost");
        assert_eq!(fs::read(file(&folder, ".damaged-wal")).unwrap(), bytes, "{garbled}");
    }
}

#[tokio::test]
async fn torn_log_counts_up_to_the_tear() {
    for damage in ["cut", "flipped", "zeros"] {
        let folder = TempDir::new().unwrap();
        killed(&folder).await;
        let log = file(&folder, LOG);
        let mut bytes = fs::read(&log).unwrap();
        let (half, length) = (bytes.len() / 2, bytes.len());
        match damage {
            "cut" => bytes.truncate(length - 100),
            "flipped" => bytes[half] ^= 1,
            _ => bytes[half..].fill(0),
        }
        fs::write(&log, &bytes).unwrap();
        let (recorded, aside) = (DamagedFiles::default(), file(&folder, ".damaged-wal"));
        assert!(set_damaged_aside(&options(&folder), &recorded).await.unwrap().is_some(), "{damage}");
        assert_eq!(recorded.all(), BTreeMap::from([(file(&folder, ""), aside.clone())]), "{damage}");
        assert_eq!(fs::read(aside).unwrap(), bytes, "{damage}");
        assert_eq!(count(&folder).await, 1000, "{damage}");
        assert_eq!(inspected(&folder).await.unwrap(), None, "{damage}: the next start finds it whole");
    }
}

#[tokio::test]
async fn frames_of_earlier_log_are_whole() {
    let (origin, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut connection = options(&origin).connect().await.unwrap();
    let rows = "CREATE TABLE row (text TEXT);
        INSERT INTO row WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            SELECT hex(randomblob(100)) FROM n;";
    for script in [rows, "PRAGMA wal_checkpoint(RESTART)", "INSERT INTO row VALUES ('last')"] {
        sqlx::raw_sql(script).execute(&mut connection).await.unwrap();
    }
    for suffix in ["", LOG] {
        fs::copy(file(&origin, suffix), file(&folder, suffix)).unwrap();
    }
    assert!(fs::metadata(file(&folder, LOG)).unwrap().len() > 100_000, "those of before are there");
    assert_eq!(inspected(&folder).await.unwrap(), None);
    assert_eq!(count(&folder).await, 1001);
    connection.close().await.unwrap();
}

/// A process that is killed between the two writes of a frame.
#[tokio::test]
async fn header_without_page_is_whole() {
    let folder = TempDir::new().unwrap();
    killed(&folder).await;
    let log = file(&folder, LOG);
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend_from_within(32..56);
    fs::write(&log, bytes).unwrap();
    assert_eq!(inspected(&folder).await.unwrap(), None);
    assert_eq!(count(&folder).await, 900);
}

#[tokio::test]
async fn interrupted_start_reports_the_loss() {
    let folder = TempDir::new().unwrap();
    fs::write(file(&folder, ".damaged"), "no database").unwrap();
    files::create(&file(&folder, "")).unwrap();
    for _ in 0..2 {
        assert!(inspected(&folder).await.unwrap().is_some());
        // A file that has a header and no tables.
        options(&folder).connect().await.unwrap().close().await.unwrap();
    }
    killed(&folder).await;
    assert_eq!(inspected(&folder).await.unwrap(), None, "there is a new file");
}

#[tokio::test]
async fn loss_has_time_of_damaged_file() {
    let folder = TempDir::new().unwrap();
    killed(&folder).await;
    let path = file(&folder, "");
    cut(&path, fs::metadata(&path).unwrap().len() - 4096);
    // The clock is behind it.
    let later = UNIX_EPOCH + Duration::from_secs(2_100_000_000);
    for suffix in ["", LOG] {
        File::open(file(&folder, suffix)).unwrap().set_modified(later).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(inspected(&folder).await.unwrap(), Some(later));
    }
}

#[tokio::test]
async fn folder_is_no_disk_fault() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "");
    fs::create_dir(&path).unwrap();
    let error = inspected(&folder).await.unwrap_err();
    assert!(!is_disk_fault(&error, &path) && !has_code(&error, &DAMAGED), "{error}");
    let read_only = sqlx::Error::Io(io::ErrorKind::ReadOnlyFilesystem.into());
    assert!(is_disk_fault(&read_only, &path) && !is_disk_fault(&sqlx::Error::PoolClosed, &path));
}

#[tokio::test]
async fn sqlite_is_built_with_our_flags() {
    let mut connection = SqliteConnectOptions::new().connect().await.unwrap();
    let query = "SELECT sqlite_compileoption_used('ENABLE_QPSG')";
    let used: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    assert_eq!(used, 1, "see .cargo/config.toml");
}

#[tokio::test]
async fn busy_file_is_connected_to_later() {
    let folder = TempDir::new().unwrap();
    let rollback = options(&folder).journal_mode(SqliteJournalMode::Delete);
    let mut first = rollback.connect().await.unwrap();
    sqlx::raw_sql("CREATE TABLE row (text TEXT); BEGIN EXCLUSIVE").execute(&mut first).await.unwrap();
    let log = options(&folder).busy_timeout(Duration::ZERO);
    assert!(has_code(&log.connect().await.unwrap_err(), &BUSY));
    let mut connecting = std::pin::pin!(connect(&log));
    assert!(tokio::time::timeout(BUSY_PAUSE, &mut connecting).await.is_err());
    sqlx::raw_sql("ROLLBACK").execute(&mut first).await.unwrap();
    connecting.await.unwrap();
}
