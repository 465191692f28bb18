//! Writes rows into one of three databases, many per statement.

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, SqliteConnection,
    postgres::PgConnectOptions,
};
#[cfg(feature = "mysql")]
use sqlx::{MySqlConnection, mysql::MySqlConnectOptions};

use crate::Clock;

/// Rows of a statement.
const ROWS: usize = 200;

/// A value of a row.
#[derive(Clone, Debug)]
pub(super) enum Field {
    Null,
    Integer(i64),
    Text(String),
    /// Unix seconds, for a column that holds a time.
    Time(i64),
}

impl From<i64> for Field {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A connection that may write.
#[derive(Debug)]
pub(super) enum Target {
    #[cfg(feature = "mysql")]
    MariaDb(MySqlConnection),
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

impl Target {
    /// Connects to a MariaDB server.
    #[cfg(feature = "mysql")]
    pub(super) async fn mariadb(url: &str) -> Result<Self, sqlx::Error> {
        let options: MySqlConnectOptions = url.replacen("mariadb://", "mysql://", 1).parse()?;
        Ok(Self::MariaDb(options.disable_statement_logging().connect().await?))
    }

    /// Connects to a PostgreSQL server.
    pub(super) async fn postgres(url: &str) -> Result<Self, sqlx::Error> {
        let options: PgConnectOptions = url.parse()?;
        Ok(Self::Postgres(options.disable_statement_logging().connect().await?))
    }

    /// Returns whether it is a MariaDB server.
    pub(super) const fn is_mariadb(&self) -> bool {
        match self {
            #[cfg(feature = "mysql")]
            Self::MariaDb(_) => true,
            Self::Postgres(_) | Self::Sqlite(_) => false,
        }
    }

    /// Runs statements.
    pub(super) async fn run(&mut self, sql: &str) -> Result<(), sqlx::Error> {
        let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match self {
            #[cfg(feature = "mysql")]
            Self::MariaDb(connection) => statements.execute(connection).await.map(|_| ()),
            Self::Postgres(connection) => statements.execute(connection).await.map(|_| ()),
            Self::Sqlite(connection) => statements.execute(connection).await.map(|_| ()),
        }
    }

    /// Returns the first existing table of these names; `None` for a file, which is new.
    pub(super) async fn occupied(&mut self, tables: &[&str]) -> Result<Option<String>, sqlx::Error> {
        let names = tables.iter().map(|table| format!("'{table}'")).collect::<Vec<_>>().join(", ");
        let query = |name: &str, schema: &str| {
            AssertSqlSafe(format!(
                "SELECT {name} FROM information_schema.tables
                WHERE table_schema = {schema} AND table_name IN ({names}) ORDER BY 1 LIMIT 1"
            ))
        };
        match self {
            #[cfg(feature = "mysql")]
            Self::MariaDb(connection) => {
                sqlx::query_scalar(query("table_name", "DATABASE()")).fetch_optional(connection).await
            }
            Self::Postgres(connection) => {
                let query = query("CAST(table_name AS TEXT)", "current_schema()");
                sqlx::query_scalar(query).fetch_optional(connection).await
            }
            Self::Sqlite(_) => Ok(None),
        }
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            #[cfg(feature = "mysql")]
            Self::MariaDb(connection) => connection.close().await,
            Self::Postgres(connection) => connection.close().await,
            Self::Sqlite(connection) => connection.close().await,
        }
    }
}

/// Collects the rows of a statement and runs it once it is full, or the next row goes elsewhere.
pub(super) struct Writer<'t> {
    target: &'t mut Target,
    clock: &'t Clock,
    /// Table and columns.
    into: &'static str,
    rows: Vec<String>,
}

impl<'t> Writer<'t> {
    pub(super) const fn new(target: &'t mut Target, clock: &'t Clock) -> Self {
        Self { target, clock, into: "", rows: Vec::new() }
    }

    /// Adds a row to `into`, a table with its columns.
    pub(super) async fn insert(&mut self, into: &'static str, row: &[Field]) -> Result<(), sqlx::Error> {
        if self.into != into || self.rows.len() >= ROWS {
            self.flush().await?;
            self.into = into;
        }
        let fields = row.iter().map(|field| self.written(field)).collect::<Vec<_>>();
        self.rows.push(format!("({})", fields.join(", ")));
        Ok(())
    }

    /// Writes the rows that are left.
    pub(super) async fn flush(&mut self) -> Result<(), sqlx::Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let sql = format!("INSERT INTO {} VALUES {}", self.into, self.rows.join(",\n"));
        self.rows.clear();
        self.target.run(&sql).await
    }

    fn written(&self, field: &Field) -> String {
        let is_mariadb = self.target.is_mariadb();
        match field {
            Field::Null => "NULL".to_owned(),
            Field::Integer(number) => number.to_string(),
            Field::Text(text) => quoted(text, is_mariadb),
            // A time of MariaDB is of no time zone.
            Field::Time(seconds) if is_mariadb => format!("FROM_UNIXTIME({seconds})"),
            Field::Time(seconds) => quoted(&self.clock.text(*seconds), false),
        }
    }
}

/// Returns a string literal.
fn quoted(text: &str, backslash_escapes: bool) -> String {
    let text = if backslash_escapes { text.replace('\\', "\\\\") } else { text.to_owned() };
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_literals_are_escaped() {
        assert_eq!(quoted(r"a'b\", false), r"'a''b\'");
        assert_eq!(quoted(r"a'b\", true), r"'a''b\\'");
    }
}
