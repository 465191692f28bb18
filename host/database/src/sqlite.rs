//! SQLite files as a start finds them after a power cut. A damaged file is set aside, so that a new one can be made.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use bulkhead_os::{
    damaged_files::{DamagedFiles, damaged_path},
    files,
};
use sqlx::{
    ConnectOptions as _, Connection as _,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};

/// What follows the name of a database in the name of its write-ahead log.
const LOG: &str = "-wal";
/// What follows it in the name of the log's index.
const INDEX: &str = "-shm";
/// Bytes of the header of a log.
const LOG_HEADER: usize = 32;
/// How the header begins. Its fourth byte names the byte order of checksums, 0x82 or 0x83.
const LOG_MAGIC: [u8; 3] = [0x37, 0x7f, 0x06];
/// SQLite's codes of a damaged file: SQLITE_CORRUPT and SQLITE_NOTADB.
const DAMAGED: [i32; 2] = [11, 26];
/// SQLite's codes of a disk that takes nothing: SQLITE_READONLY, SQLITE_IOERR and SQLITE_FULL.
const DISK: [i32; 3] = [8, 10, 13];

/// Sets the file of `options` aside, with its companions, if it is damaged, logs why, and records it in `damaged_files`.
/// Returns until when the rows were written that are lost, by the clock of that time, also where an earlier start was
/// interrupted before it had made a new file.
///
/// A file whose host was not stopped is read as a whole; that takes a second for some hundred megabytes.
///
/// # Errors
/// When the file cannot be read for another reason, or not be renamed.
pub async fn set_damaged_aside(
    options: &SqliteConnectOptions,
    damaged_files: &DamagedFiles,
) -> Result<Option<SystemTime>, sqlx::Error> {
    let set_aside =
        |suffixes: &[&str], reason: &str| set_aside(options.get_filename(), suffixes, reason, damaged_files);
    let path = options.get_filename();
    // Of two hosts that start at once, the second does not set aside what the first one has made.
    let _lock = lock(path).await;
    let log = beside(path, LOG);
    let has_log = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    let written = last_written(path);
    if fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        if has_log {
            // SQLite would take it for a new file and delete the log.
            set_aside(&["", LOG, INDEX], "it is empty")?;
        }
        return Ok(lost_until(path));
    }
    let is_log_damaged = has_log && !begins_as_log(&log)?;
    if is_log_damaged {
        set_aside(&[LOG, INDEX], "its write-ahead log is damaged")?;
    }
    let reason = match inspect(options, has_log).await {
        // An earlier start was interrupted, or the disk was full, before it had made the tables.
        Ok(Contents::Empty) => return Ok(lost_until(path)),
        Ok(Contents::Tables) => return Ok(lost_until(path).filter(|_| is_log_damaged)),
        Ok(Contents::Damaged(reason)) => reason,
        Err(error) if has_code(&error, &DAMAGED) => error.to_string(),
        Err(error) => return Err(error),
    };
    if let Some(written) = written {
        // The inspection may have written to it, by a clock that may be wrong.
        let _ = File::open(path).and_then(|file| file.set_modified(written));
    }
    set_aside(&["", LOG, INDEX], &reason)?;
    Ok(lost_until(path).max(written))
}

/// Locks the folder of a file, where it has one that can be locked.
async fn lock(path: &Path) -> Option<File> {
    let folder = File::open(path.parent()?).ok()?;
    let locked = tokio::task::spawn_blocking(move || folder.lock().map(|()| folder));
    locked.await.ok()?.ok()
}

/// Returns when a damaged database or its log was last written, if there is one.
fn lost_until(path: &Path) -> Option<SystemTime> {
    last_written(&damaged_path(path))
}

/// Returns when a database or its log was last written, if there is one.
fn last_written(path: &Path) -> Option<SystemTime> {
    let written = |file: PathBuf| fs::metadata(file).ok()?.modified().ok();
    ["", LOG].into_iter().filter_map(|suffix| written(beside(path, suffix))).max()
}

/// Returns whether the file at `path` cannot be opened because its disk takes nothing, as one that is read-only, full or
/// faulty: it can be opened later.
pub fn is_disk_fault(error: &sqlx::Error, path: &Path) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let is_named = match error {
        sqlx::Error::Io(error) => matches!(error.kind(), QuotaExceeded | ReadOnlyFilesystem | StorageFull),
        error => has_code(error, &DISK),
    };
    // Of a read-only disk SQLite may say only that it cannot open the file.
    is_named || path.parent().and_then(files::disk_fault).is_some()
}

/// Returns whether SQLite gave one of these codes, extended or not.
fn has_code(error: &sqlx::Error, codes: &[i32]) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| codes.contains(&(code & 0xff)))
}

fn beside(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns whether a log has the header of one. Another host with this file may have removed or emptied it meanwhile.
fn begins_as_log(log: &Path) -> io::Result<bool> {
    let mut header = Vec::new();
    let file = match File::open(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        file => file?,
    };
    file.take(LOG_HEADER as u64).read_to_end(&mut header)?;
    Ok(header.is_empty() || header.len() == LOG_HEADER && header.starts_with(&LOG_MAGIC))
}

/// What a file holds.
enum Contents {
    /// No table.
    Empty,
    /// Tables, and nothing is wrong with them.
    Tables,
    /// What is wrong with it.
    Damaged(String),
}

/// Inspects a file, and all of its pages where it is not known that they were written.
async fn inspect(options: &SqliteConnectOptions, all: bool) -> Result<Contents, sqlx::Error> {
    let mut connection = options.connect().await?;
    let found = contents(&mut connection, all).await;
    // What is wrong with it is known.
    let _ = connection.close().await;
    found
}

async fn contents(connection: &mut SqliteConnection, all: bool) -> Result<Contents, sqlx::Error> {
    if all {
        let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut *connection).await?;
        if found != "ok" {
            return Ok(Contents::Damaged(found));
        }
    }
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_master").fetch_one(connection).await?;
    Ok(if tables == 0 { Contents::Empty } else { Contents::Tables })
}

/// Renames a file or its companions. Those of an earlier damaged file do not stay beside this one.
fn set_aside(path: &Path, suffixes: &[&str], reason: &str, damaged_files: &DamagedFiles) -> io::Result<()> {
    let aside = damaged_path(path);
    for suffix in suffixes {
        let (from, to) = (beside(path, suffix), beside(&aside, suffix));
        let moved = match fs::rename(from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_file(to),
            moved => moved,
        };
        match moved {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // The file itself, if there was one.
    let mut renamed = suffixes.iter().map(|suffix| beside(&aside, suffix));
    damaged_files.record(path, &renamed.find(|renamed| renamed.exists()).unwrap_or_else(|| aside.clone()));
    tracing::error!(
        file = %path.display(),
        aside = %aside.display(),
        reason,
        "the database is damaged and set aside; what it held is lost"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{
        collections::BTreeMap,
        time::{Duration, UNIX_EPOCH},
    };

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
        for garbled in [&b"short"[..], &[0; 5000]] {
            let folder = TempDir::new().unwrap();
            killed(&folder).await;
            fs::write(file(&folder, LOG), garbled).unwrap();
            assert!(inspected(&folder).await.unwrap().is_some());
            assert_eq!(count(&folder).await, 1000, "what was in the log is lost");
            assert_eq!(fs::read(file(&folder, ".damaged-wal")).unwrap(), garbled);
        }
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
        let query = "SELECT sqlite_compileoption_used('DEFAULT_MEMSTATUS=0'),
            sqlite_compileoption_used('ENABLE_MEMORY_MANAGEMENT')";
        let used: (i64, i64) = sqlx::query_as(query).fetch_one(&mut connection).await.unwrap();
        assert_eq!(used, (1, 0), "see .cargo/config.toml");
    }
}
