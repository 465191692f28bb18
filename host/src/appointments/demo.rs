//! A made-up appointment system in SQLite: weeks of bookings with follow-ups and cancellations, bookable times,
//! waiting mails and logged-in users. The same seed at the same time gives the same rows.

mod city;
mod dice;

use std::{fs, io, path::Path};

use sqlx::{
    Connection as _, Executor as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};

use self::city::City;
use super::Clock;

/// The tables.
pub(super) const SCHEMA: &str = include_str!("demo/schema.sql");

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
    /// The database engine's word.
    #[error("cannot fill the database: {0}")]
    Fill(#[from] sqlx::Error),
}

impl Demo {
    /// Makes the database; the file is there only when it is whole.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub async fn create(&self, file: &Path) -> Result<(), DemoError> {
        if file.exists() {
            return Err(DemoError::Exists(file.display().to_string()));
        }
        self.replace(file).await
    }

    /// Makes the database in the place of one that may be there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn replace(&self, file: &Path) -> Result<(), DemoError> {
        let write = |source| DemoError::Write { path: file.display().to_string(), source };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(write)?;
        }
        let beside = file.with_extension(format!("{}.tmp", uuid::Uuid::new_v4()));
        let filled = self.fill(&beside).await;
        let done = filled.and_then(|()| fs::rename(&beside, file).map_err(write));
        if done.is_err() {
            // What cannot be removed is left beside, under a name that nobody uses.
            let _ = fs::remove_file(&beside);
        }
        done
    }

    async fn fill(&self, file: &Path) -> Result<(), DemoError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Off);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        connection.execute(SCHEMA).await?;
        let mut transaction = connection.begin().await?;
        City::new(self).build(&mut transaction).await?;
        transaction.commit().await?;
        connection.close().await?;
        Ok(())
    }
}
