//! Tests of the ledger on SQLite and in memory. The test crate tests it on a real PostgreSQL server.

mod claims;
mod clocks;
mod lenient;
mod opening;
mod upkeep;
mod visits;

use super::*;
use bulkhead_os::clock::{ClockControl, HostClock};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const WINDOW: Duration = Duration::from_secs(1800);
const DECADE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

fn options(window: Duration) -> LedgerOptions {
    LedgerOptions::new(window, 4)
}

/// Opens a ledger whose time of day can be moved.
async fn movable(backend: Backend) -> (Ledger, ClockControl) {
    let (clock, control) = HostClock::movable();
    (Ledger::open(backend, LedgerOptions { clock, ..options(WINDOW) }).await.unwrap(), control)
}

/// Returns Unix milliseconds.
fn now() -> i64 {
    HostClock::system().millis()
}

async fn sqlite(folder: &TempDir) -> Ledger {
    Ledger::open(Backend::Sqlite(file(folder)), options(WINDOW)).await.unwrap()
}

async fn memory() -> Ledger {
    Ledger::open(Backend::Memory, options(WINDOW)).await.unwrap()
}

fn file(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("ledger.sqlite")
}

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

fn id(number: u64) -> String {
    format!("{number:064x}")
}

/// Returns Unix seconds, a minute from now.
fn soon() -> u64 {
    now().cast_unsigned() / 1000 + 60
}

/// Asks until the answer is yes, ten seconds at most.
async fn eventually(mut yes: impl AsyncFnMut() -> bool) -> bool {
    for _ in 0..500 {
        if yes().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
