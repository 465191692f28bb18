//! Connects to one of three databases, and returns rows as plain values.

use std::{path::PathBuf, str::FromStr as _, time::Duration};

#[cfg(feature = "mysql")]
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Executor as _, Row as _,
    postgres::{PgConnectOptions, PgConnection},
    sqlite::SqliteConnectOptions,
};

use super::{CollectError, dialect::Dialect};
use bulkhead_database::{NoConnection, Pool};

/// Time beyond a statement's timeout after which the client gives up.
const GRACE: Duration = Duration::from_secs(1);

/// The location of the database. Prints without its URL, which may contain a password.
#[derive(Clone)]
#[allow(missing_docs)]
pub enum DatabaseLocation {
    MariaDb(String),
    Postgres(String),
    Sqlite(PathBuf),
}

impl std::fmt::Debug for DatabaseLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MariaDb(_) => "MariaDb",
            Self::Postgres(_) => "Postgres",
            Self::Sqlite(_) => "Sqlite",
        })
    }
}

/// A parameter.
#[derive(Clone, Debug)]
pub(super) enum Parameter {
    Integer(i64),
    Text(String),
}

/// A column's type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Integer,
    Text,
}

/// A column's value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Integer(Option<i64>),
    Text(Option<String>),
}

/// A row, read from the left.
#[derive(Debug)]
pub(super) struct Row(std::vec::IntoIter<Value>);

impl Row {
    /// Returns the next column's number.
    pub(super) fn integer(&mut self) -> Option<i64> {
        match self.0.next() {
            Some(Value::Integer(number)) => number,
            _ => None,
        }
    }

    /// Returns the next column's count.
    pub(super) fn count(&mut self) -> u64 {
        self.integer().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }

    /// Returns the next column's text.
    pub(super) fn text(&mut self) -> Option<String> {
        match self.0.next() {
            Some(Value::Text(text)) => text,
            _ => None,
        }
    }
}

/// The database's connections.
#[derive(Debug)]
pub(super) struct Connections {
    pool: AnyPool,
    timeout: Duration,
}

#[derive(Debug)]
enum AnyPool {
    #[cfg(feature = "mysql")]
    MariaDb(Pool<sqlx::MySql>),
    Postgres(Pool<sqlx::Postgres>),
    Sqlite(Pool<sqlx::Sqlite>),
}

impl Connections {
    /// Makes connections that are opened when needed; a statement may take `timeout`.
    ///
    /// # Errors
    /// When the URL is invalid.
    pub(super) fn new(location: &DatabaseLocation, timeout: Duration) -> Result<Self, CollectError> {
        let pool = match location {
            #[cfg(not(feature = "mysql"))]
            DatabaseLocation::MariaDb(_) => {
                return Err(CollectError::Unreachable(
                    "this program is built without MariaDB and MySQL".into(),
                ));
            }
            #[cfg(feature = "mysql")]
            DatabaseLocation::MariaDb(url) => {
                let url = url.replacen("mariadb://", "mysql://", 1);
                // The server's own time zone and SQL mode stay as they are.
                let options = MySqlConnectOptions::from_str(&url)
                    .map_err(|_| wrong_url())?
                    .timezone(None)
                    .pipes_as_concat(false)
                    .no_engine_substitution(false)
                    .disable_statement_logging();
                AnyPool::MariaDb(Pool::new(
                    options,
                    Box::new(move |connection| Box::pin(limit_mariadb(connection, timeout))),
                ))
            }
            DatabaseLocation::Postgres(url) => {
                let options = PgConnectOptions::from_str(url)
                    .map_err(|_| wrong_url())?
                    .application_name("bulkhead")
                    .disable_statement_logging();
                AnyPool::Postgres(Pool::new(
                    options,
                    Box::new(move |connection| Box::pin(limit_postgres(connection, timeout))),
                ))
            }
            DatabaseLocation::Sqlite(path) => {
                let options = SqliteConnectOptions::new()
                    .filename(path)
                    .read_only(true)
                    .busy_timeout(timeout)
                    .disable_statement_logging();
                AnyPool::Sqlite(Pool::new(options, Box::new(|_| Box::pin(async { Ok(()) }))))
            }
        };
        Ok(Self { pool, timeout })
    }

    pub(super) fn dialect(&self) -> Dialect {
        match self.pool {
            #[cfg(feature = "mysql")]
            AnyPool::MariaDb(_) => Dialect::MariaDb,
            AnyPool::Postgres(_) => Dialect::Postgres,
            AnyPool::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Runs a query whose placeholders are [`Dialect`]'s on a connection of its own, in bounded time.
    pub(super) async fn rows(
        &self,
        template: &str,
        parameters: &[Parameter],
        columns: &[Column],
    ) -> Result<Vec<Row>, CollectError> {
        let sql = self.dialect().sql(template);
        // Boxed at once: a driver's future is kilobytes large.
        Box::pin(self.fetch(sql, parameters, columns)).await
    }

    async fn fetch(
        &self,
        sql: String,
        parameters: &[Parameter],
        columns: &[Column],
    ) -> Result<Vec<Row>, CollectError> {
        let late = || CollectError::Timeout(self.timeout.as_secs());
        macro_rules! fetch {
            ($lease:expr) => {{
                let mut lease = $lease.await.map_err(|reason| self.unreached(&reason))?;
                let mut query = sqlx::query(AssertSqlSafe(sql));
                for parameter in parameters {
                    query = match parameter {
                        Parameter::Integer(number) => query.bind(*number),
                        Parameter::Text(text) => query.bind(text.clone()),
                    };
                }
                let answer =
                    tokio::time::timeout(self.timeout + GRACE, query.fetch_all(&mut lease.connection));
                let rows = match answer.await.map_err(|_| late())?.map_err(|error| self.judge(&error)) {
                    Ok(rows) => rows,
                    Err(error) => {
                        // The server has answered, and the next query may ask for less.
                        if matches!(error, CollectError::Schema(_)) {
                            lease.release();
                        }
                        return Err(error);
                    }
                };
                lease.release();
                let rows: Result<_, sqlx::Error> = rows
                    .iter()
                    .map(|row| {
                        let columns = columns.iter().enumerate();
                        let values = columns.map(|(index, column)| match column {
                            Column::Integer => row.try_get(index).map(Value::Integer),
                            Column::Text => row.try_get(index).map(Value::Text),
                        });
                        values.collect::<Result<Vec<_>, _>>().map(|values| Row(values.into_iter()))
                    })
                    .collect();
                rows.map_err(|error| self.judge(&error))
            }};
        }
        match &self.pool {
            #[cfg(feature = "mysql")]
            AnyPool::MariaDb(pool) => fetch!(pool.lease()),
            AnyPool::Postgres(pool) => fetch!(pool.lease()),
            AnyPool::Sqlite(pool) => fetch!(pool.lease_to_read()),
        }
    }

    /// Converts a server's error; some codes mean that it ended a statement at our timeout.
    fn judge(&self, error: &sqlx::Error) -> CollectError {
        let code = error.as_database_error().and_then(|error| error.code().map(|code| code.into_owned()));
        #[cfg(not(feature = "mysql"))]
        let number = None::<u16>;
        #[cfg(feature = "mysql")]
        let number = error
            .as_database_error()
            .and_then(|error| error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>())
            .map(|error| error.number());
        // MariaDB's and MySQL's "statement too long", lock wait, PostgreSQL's "cancelled", SQLite's "busy".
        let late =
            matches!(number, Some(1969 | 3024 | 1205)) || matches!(code.as_deref(), Some("57014" | "5"));
        if late { CollectError::Timeout(self.timeout.as_secs()) } else { error.into() }
    }

    fn unreached(&self, reason: &NoConnection) -> CollectError {
        match reason {
            NoConnection::Busy => CollectError::Timeout(self.timeout.as_secs()),
            NoConnection::Silent => CollectError::Unreachable("it does not answer".into()),
            NoConnection::Refused(error) => self.judge(error),
        }
    }

    pub(super) async fn close(&self) {
        match &self.pool {
            #[cfg(feature = "mysql")]
            AnyPool::MariaDb(pool) => pool.close().await,
            AnyPool::Postgres(pool) => pool.close().await,
            AnyPool::Sqlite(pool) => pool.close().await,
        }
    }
}

fn wrong_url() -> CollectError {
    CollectError::Unreachable("the URL must be mysql://user:password@host/name or postgres://...".into())
}

#[cfg(feature = "mysql")]
async fn limit_mariadb(connection: &mut MySqlConnection, timeout: Duration) -> Result<(), sqlx::Error> {
    let seconds = timeout.as_secs().max(1);
    let mariadb = format!("SET SESSION max_statement_time = {seconds}");
    if connection.execute(AssertSqlSafe(mariadb)).await.is_err() {
        let mysql = format!("SET SESSION max_execution_time = {}", timeout.as_millis());
        connection.execute(AssertSqlSafe(mysql)).await?;
    }
    connection.execute(AssertSqlSafe(format!("SET SESSION lock_wait_timeout = {seconds}"))).await?;
    connection.execute("SET SESSION TRANSACTION READ ONLY").await?;
    Ok(())
}

async fn limit_postgres(connection: &mut PgConnection, timeout: Duration) -> Result<(), sqlx::Error> {
    let limit = format!("SET statement_timeout = {}", timeout.as_millis());
    connection.execute(AssertSqlSafe(limit)).await?;
    connection.execute("SET default_transaction_read_only = on").await?;
    Ok(())
}
