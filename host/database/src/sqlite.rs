//! SQLite files as a start finds them after a power cut. A damaged file is set aside, so that a new one can be made.

mod log;
#[cfg(test)]
mod tests;

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use bulkhead_os::{
    damaged_files::{DamagedFiles, damaged_path},
    files,
};
use sqlx::{
    ConnectOptions, Connection as _,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqliteError},
};

use self::log::{LogState, inspect_log};

/// What follows the name of a database in the name of its write-ahead log.
const LOG: &str = "-wal";
/// What follows it in the name of the log's index.
const INDEX: &str = "-shm";
/// What follows it in the name of its rollback journal.
const JOURNAL: &str = "-journal";
/// After this time a log is inspected again that a running host may have been writing. It takes microseconds for a frame.
const LOG_PAUSE: Duration = Duration::from_millis(100);
/// SQLite's codes of a damaged file: SQLITE_CORRUPT and SQLITE_NOTADB.
const DAMAGED: [i32; 2] = [11, 26];
/// SQLite's code of a file that another process has locked: SQLITE_BUSY.
const BUSY: [i32; 1] = [5];
/// After this time a busy file is connected to again.
const BUSY_PAUSE: Duration = Duration::from_millis(50);
/// Longest time in which that is done.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// SQLite's codes of a disk that takes nothing: SQLITE_READONLY, SQLITE_IOERR and SQLITE_FULL.
const DISK: [i32; 3] = [8, 10, 13];

/// Sets the file of `options` aside, with its companions, if it is damaged, logs why, and records it in `damaged_files`.
/// Returns until when the rows were written that are lost, by the clock of that time, also where an earlier start was
/// interrupted before it had made a new file. Of a log that is torn, a copy is kept, and what is before the tear counts.
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
    let has_log = has_log(path);
    let written = last_written(path);
    if fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        if has_log {
            // SQLite would take it for a new file and delete the log.
            set_aside(&["", LOG, INDEX], "it is empty")?;
        }
        return Ok(lost_until(path));
    }
    let log_state = if has_log { settled_state(&log).await? } else { LogState::Whole };
    match log_state {
        LogState::Whole => {}
        LogState::Headless => set_aside(&[LOG, INDEX], "its write-ahead log is damaged")?,
        LogState::Torn => keep_torn(path, damaged_files)?,
    }
    let reason = match inspect(options, has_log).await {
        // An earlier start was interrupted, or the disk was full, before it had made the tables.
        Ok(Contents::Empty) => return Ok(lost_until(path)),
        Ok(Contents::Tables) => return Ok(lost_until(path).filter(|_| log_state != LogState::Whole)),
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

/// Returns whether nothing changes a file, because its disk is read-only, and the file has all of its rows. It is then opened as
/// immutable: SQLite can make neither a log nor its index beside it.
pub fn is_unchanging(path: &Path) -> bool {
    files::is_read_only(path) && unfinished(path).is_none()
}

/// Returns why the rows of a file are not whole, and what to do, where its disk is read-only and a log or a journal is beside it
/// that SQLite must write into the file first. If the index of a log is there too, SQLite reads both nevertheless.
pub fn unfinished_fault(path: &Path) -> Option<io::Error> {
    let file = unfinished(path).filter(|_| files::is_read_only(path))?;
    let text = format!(
        "{} has changes that are not in the database yet, and SQLite cannot read them on a read-only disk; make the disk \
         writable, or copy the database with this file to one that is",
        file.display()
    );
    Some(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, text))
}

/// Returns the log or the rollback journal of a database that was not closed, without which its rows are old, or half of a
/// transaction.
fn unfinished(path: &Path) -> Option<PathBuf> {
    let (log, journal) = (beside(path, LOG), beside(path, JOURNAL));
    if has_log(path) {
        return Some(log);
    }
    let mut first = [0];
    let is_hot = match File::open(&journal).and_then(|mut journal| journal.read_exact(&mut first)) {
        // That of a finished transaction may stay and begins with a zero.
        Ok(()) => first != [0],
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof),
    };
    is_hot.then_some(journal)
}

/// Reads the names of the tables: SQLite opens a file when it is first read.
pub(crate) async fn read_schema(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT count(*) FROM sqlite_master").execute(connection).await.map(drop)
}

/// Returns whether a database has a write-ahead log that is not empty: a host has it open, or was not stopped.
fn has_log(path: &Path) -> bool {
    fs::metadata(beside(path, LOG)).is_ok_and(|log| log.len() > 0)
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
    let is_named = match error {
        sqlx::Error::Io(error) => files::is_disk_fault(error),
        error => has_code(error, &DISK),
    };
    // Of a read-only disk SQLite may say only that it cannot open the file.
    is_named || path.parent().and_then(files::disk_fault).is_some()
}

/// Connects to a database. A SQLite file whose journal another process is changing, as at its first start, is busy at once
/// whatever the time-out of `options`; this tries again for five seconds.
///
/// # Errors
/// Those of the database.
pub async fn connect<O>(options: &O) -> Result<O::Connection, sqlx::Error>
where
    O: ConnectOptions,
    O::Connection: Sized,
{
    let begun = Instant::now();
    loop {
        match options.connect().await {
            Err(error) if has_code(&error, &BUSY) && begun.elapsed() < BUSY_WAIT => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            connected => return connected,
        }
    }
}

/// Returns whether SQLite gave one of these codes, extended or not.
fn has_code(error: &sqlx::Error, codes: &[i32]) -> bool {
    // A number of another database means something else.
    let error = error.as_database_error().filter(|error| error.try_downcast_ref::<SqliteError>().is_some());
    let code = error.and_then(|error| error.code()?.parse::<i32>().ok());
    code.is_some_and(|code| codes.contains(&(code & 0xff)))
}

fn beside(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Inspects a log. One that changes has a host that runs, which has inspected it at its start.
async fn settled_state(log: &Path) -> io::Result<LogState> {
    let changed = || fs::metadata(log).and_then(|log| log.modified()).ok();
    let before = changed();
    let state = inspect_log(log)?;
    if state == LogState::Whole {
        return Ok(state);
    }
    tokio::time::sleep(LOG_PAUSE).await;
    let state = inspect_log(log)?;
    Ok(if changed() == before { state } else { LogState::Whole })
}

/// Keeps a copy of the torn log of a database: SQLite goes on with what is before the tear, and deletes the rest.
fn keep_torn(path: &Path, damaged_files: &DamagedFiles) -> io::Result<()> {
    let (log, aside) = (beside(path, LOG), beside(&damaged_path(path), LOG));
    let written = fs::metadata(&log)?.modified()?;
    fs::copy(&log, &aside)?;
    File::open(&aside)?.set_modified(written)?;
    damaged_files.record(path, &aside);
    tracing::error!(
        file = %path.display(),
        aside = %aside.display(),
        "the write-ahead log of the database is damaged; what followed the damage is lost"
    );
    Ok(())
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
    let mut connection = connect(options).await?;
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
