//! Creates a demonstration database in a SQLite file or on a server: weeks of bookings with follow-ups and
//! cancellations, bookable times, waiting mails and logged-in users. The same seed at the same time gives the same
//! rows.

mod city;
mod random;
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
use super::{Clock, DatabaseLocation, error::reason};

/// The tables.
pub(super) const SCHEMA: &str = include_str!("demo/schema/sqlite.sql");
#[cfg(feature = "mysql")]
const MARIADB: &str = include_str!("demo/schema/mariadb.sql");
const POSTGRES: &str = include_str!("demo/schema/postgres.sql");
const TABLES: [&str; 8] =
    ["buerger", "slot", "oeffnungszeit", "mailqueue", "config", "nutzer", "behoerde", "standort"];

/// The settings of a demonstration database.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Appointments; one that takes several slots has further rows.
    pub rows: u32,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The present, Unix seconds.
    pub now: i64,
    /// The appointment system's clock.
    pub clock: Clock,
}

/// Why no database was created.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The file exists already.
    #[error("{0} exists; remove it or name another file")]
    Exists(String),
    /// The file cannot be written.
    #[error("cannot write {path}: {source}; name a file in a writable folder")]
    Write {
        /// Which file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The database is not empty.
    #[error(
        "the database has the table {0} already; name a database without tables of an appointment system"
    )]
    Occupied(String),
    /// There is no connection.
    #[error("cannot connect to the database: {}; check the URL", reason(.0))]
    Connect(sqlx::Error),
    /// The database's error.
    #[error("cannot fill the database: {}; the user must be allowed to create tables", reason(.0))]
    Fill(sqlx::Error),
}

impl From<sqlx::Error> for DemoError {
    fn from(error: sqlx::Error) -> Self {
        Self::Fill(error)
    }
}

impl Demo {
    /// Creates the database: in a new file, or in a server's database without any of the tables. It is complete in the
    /// end, or not there.
    ///
    /// # Errors
    /// When it exists already, or cannot be written.
    pub async fn create(&self, location: &DatabaseLocation) -> Result<(), DemoError> {
        match location {
            DatabaseLocation::Sqlite(file) if file.exists() => {
                Err(DemoError::Exists(file.display().to_string()))
            }
            DatabaseLocation::Sqlite(file) => self.replace(file).await,
            #[cfg(not(feature = "mysql"))]
            DatabaseLocation::MariaDb(_) => Err(DemoError::Connect(sqlx::Error::Configuration(
                "this program is built without MariaDB and MySQL".into(),
            ))),
            #[cfg(feature = "mysql")]
            DatabaseLocation::MariaDb(url) => {
                let target = Target::mariadb(url).await.map_err(DemoError::Connect)?;
                self.add_to(target, MARIADB).await
            }
            DatabaseLocation::Postgres(url) => {
                let target = Target::postgres(url).await.map_err(DemoError::Connect)?;
                self.add_to(target, POSTGRES).await
            }
        }
    }

    /// Creates the file, and replaces an existing one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn replace(&self, file: &Path) -> Result<(), DemoError> {
        let write = |source| DemoError::Write { path: file.display().to_string(), source };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(write)?;
        }
        let temporary = file.with_extension(format!("{}.tmp", uuid::Uuid::new_v4()));
        let filled = self.fill_file(&temporary).await;
        let done = filled.and_then(|()| fs::rename(&temporary, file).map_err(write));
        if done.is_err() {
            // A file that cannot be removed stays, under a name that is not used.
            let _ = fs::remove_file(&temporary);
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
            // MariaDB keeps tables even if the transaction fails. The next attempt names those that cannot be removed.
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
        if target.is_mariadb() {
            target.run("BEGIN").await?;
        }
        let mut writer = Writer::new(target, &self.clock);
        City::new(self).build(&mut writer).await?;
        writer.flush().await?;
        target.run("COMMIT").await
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn errors_have_no_words_of_the_driver() {
        let refused = || sqlx::Error::Io(io::Error::other("refused"));
        let without = "cannot connect to the database: no MariaDB; check the URL";
        for (error, text) in [
            (DemoError::Connect(refused()), "cannot connect to the database: refused; check the URL"),
            (DemoError::Connect(sqlx::Error::Configuration("no MariaDB".into())), without),
            (
                DemoError::from(refused()),
                "cannot fill the database: refused; the user must be allowed to create tables",
            ),
        ] {
            assert_eq!(error.to_string(), text);
            assert!(error.source().is_none(), "a command would print {text} twice");
        }
    }
}
