//! A made-up appointment system in a SQLite file or on a database server: weeks of bookings with follow-ups and
//! cancellations, bookable times, waiting mails and logged-in users. The same seed at the same time gives the same rows.

mod city;
mod dice;
mod writer;

use std::{fs, io, path::Path};

use sqlx::{
    ConnectOptions as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};

use self::{
    city::City,
    writer::{Target, Writer},
};
use super::{Clock, Place};

/// The tables.
pub(super) const SCHEMA: &str = include_str!("demo/schema/sqlite.sql");
const MARIADB: &str = include_str!("demo/schema/mariadb.sql");
const POSTGRES: &str = include_str!("demo/schema/postgres.sql");
const TABLES: [&str; 8] =
    ["buerger", "slot", "oeffnungszeit", "mailqueue", "config", "nutzer", "behoerde", "standort"];

/// What is to be made up.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Appointments; one that takes several slots has further rows.
    pub rows: u32,
    /// Where the dice start.
    pub seed: u64,
    /// The present, Unix seconds.
    pub now: i64,
    /// The appointment system's clocks.
    pub clock: Clock,
}

/// Why there is no database.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Something is there already.
    #[error("{0} exists; remove it or name another file")]
    Exists(String),
    /// The file cannot be written.
    #[error("cannot write {path}: {source}; name a file in a writable folder")]
    Write {
        /// Which file.
        path: String,
        /// The system's word.
        source: io::Error,
    },
    /// The database is not empty.
    #[error(
        "the database has the table {0} already; name a database without tables of an appointment system"
    )]
    Occupied(String),
    /// There is no connection.
    #[error("cannot connect to the database: {0}; check the URL")]
    Connect(sqlx::Error),
    /// The database engine's word.
    #[error("cannot fill the database: {0}; the user must be allowed to create tables")]
    Fill(#[from] sqlx::Error),
}

impl Demo {
    /// Makes the database: in a new file, or in a server's database that has none of the tables. There is all of it in
    /// the end, or nothing.
    ///
    /// # Errors
    /// When there is something already, or it cannot be written.
    pub async fn create(&self, place: &Place) -> Result<(), DemoError> {
        match place {
            Place::Sqlite(file) if file.exists() => Err(DemoError::Exists(file.display().to_string())),
            Place::Sqlite(file) => self.replace(file).await,
            Place::MariaDb(url) => {
                let target = Target::mariadb(url).await.map_err(DemoError::Connect)?;
                self.add_to(target, MARIADB).await
            }
            Place::Postgres(url) => {
                let target = Target::postgres(url).await.map_err(DemoError::Connect)?;
                self.add_to(target, POSTGRES).await
            }
        }
    }

    /// Makes the file in the place of one that may be there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn replace(&self, file: &Path) -> Result<(), DemoError> {
        let write = |source| DemoError::Write { path: file.display().to_string(), source };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(write)?;
        }
        let beside = file.with_extension(format!("{}.tmp", uuid::Uuid::new_v4()));
        let filled = self.fill_file(&beside).await;
        let done = filled.and_then(|()| fs::rename(&beside, file).map_err(write));
        if done.is_err() {
            // What cannot be removed is left beside, under a name that nobody uses.
            let _ = fs::remove_file(&beside);
        }
        done
    }

    async fn fill_file(&self, file: &Path) -> Result<(), DemoError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Off)
            .disable_statement_logging();
        let mut target = Target::Sqlite(options.connect().await?);
        self.fill(&mut target, SCHEMA).await?;
        Ok(target.close().await?)
    }

    async fn add_to(&self, mut target: Target, schema: &str) -> Result<(), DemoError> {
        if let Some(table) = target.occupied(&TABLES).await? {
            return Err(DemoError::Occupied(table));
        }
        let filled = self.fill(&mut target, schema).await;
        if filled.is_err() {
            // MariaDB keeps tables whatever becomes of the transaction. What cannot be removed is named by the next try.
            let _ = target.run("ROLLBACK").await;
            let _ = target.run(&format!("DROP TABLE IF EXISTS {}", TABLES.join(", "))).await;
        }
        filled?;
        Ok(target.close().await?)
    }

    async fn fill(&self, target: &mut Target, schema: &str) -> Result<(), sqlx::Error> {
        target.run("BEGIN").await?;
        target.run(schema).await?;
        // MariaDB ends a transaction with each table.
        if matches!(target, Target::MariaDb(_)) {
            target.run("BEGIN").await?;
        }
        let mut writer = Writer::new(target, &self.clock);
        City::new(self).build(&mut writer).await?;
        writer.flush().await?;
        target.run("COMMIT").await
    }
}
