//! Tests of the collector on SQLite databases.

mod clocks;
mod golden;
mod outage;
mod refresh;

use std::{path::Path, time::Duration};

use sqlx::{Connection as _, Executor as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{Clock, Collector, CollectorOptions, DatabaseLocation, demo::SCHEMA};

/// 2026-08-21 14:05:00 in Berlin.
const NOW: i64 = 1_787_313_900;

fn berlin() -> Clock {
    Clock::new("Europe/Berlin").unwrap()
}

async fn open(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// Creates a database with the tables and these rows.
async fn fill(file: &Path, rows: &str) {
    let mut connection = open(file).await;
    connection.execute(SCHEMA).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(rows.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

fn collector(file: &Path, time_to_live: Duration, max_age: Duration) -> Collector {
    let options = CollectorOptions {
        location: DatabaseLocation::Sqlite(file.to_owned()),
        clock: berlin(),
        statement_timeout: Duration::from_secs(5),
        max_age,
    };
    Collector::new(options, |_| time_to_live).unwrap()
}
