//! Fills in the SQL that differs between the three databases. Queries are written once, with placeholders:
//!
//! | placeholder | MariaDB | PostgreSQL | SQLite |
//! | --- | --- | --- | --- |
//! | `?` | `?` | `$1`, `$2`, ... | `?` |
//! | `{int}`, a cast's 64-bit type | `SIGNED` | `BIGINT` | `INTEGER` |
//! | `{local}`, a parameter that is a local time | `CAST(? AS DATETIME)` | `CAST(? AS TIMESTAMP)` | `?` |
//! | `{status}`, a status that compares without case | `status` | `LOWER(RTRIM(status))` | the same |

/// The SQL dialect of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    #[cfg_attr(not(feature = "mysql"), allow(dead_code))]
    MariaDb,
    Postgres,
    Sqlite,
}

impl Dialect {
    /// Fills in the placeholders.
    pub(super) fn sql(self, template: &str) -> String {
        let (int, local, status) = match self {
            // The column's collation compares without case, and does it faster.
            Self::MariaDb => ("SIGNED", "CAST(? AS DATETIME)", "status"),
            Self::Postgres => ("BIGINT", "CAST(? AS TIMESTAMP)", "LOWER(RTRIM(status))"),
            Self::Sqlite => ("INTEGER", "?", "LOWER(RTRIM(status))"),
        };
        let sql = template.replace("{int}", int).replace("{local}", local).replace("{status}", status);
        if self == Self::Postgres { numbered(&sql) } else { sql }
    }

    /// Writes a time as text: Unix seconds on MariaDB, whose clock may be in another zone, elsewhere the time itself.
    pub(super) fn time_as_text(self, time: &str) -> String {
        match self {
            Self::MariaDb => format!("CAST(CAST(UNIX_TIMESTAMP({time}) AS SIGNED) AS CHAR)"),
            Self::Postgres | Self::Sqlite => format!("CAST({time} AS TEXT)"),
        }
    }
}

fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        out.push_str(&format!("${}", index + 1));
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        let template = "SELECT CAST(a AS {int}) FROM t WHERE b = ? AND c > {local}";
        assert_eq!(
            Dialect::Postgres.sql(template),
            "SELECT CAST(a AS BIGINT) FROM t WHERE b = $1 AND c > CAST($2 AS TIMESTAMP)"
        );
        assert_eq!(
            Dialect::MariaDb.sql(template),
            "SELECT CAST(a AS SIGNED) FROM t WHERE b = ? AND c > CAST(? AS DATETIME)"
        );
        assert_eq!(Dialect::Sqlite.sql(template), "SELECT CAST(a AS INTEGER) FROM t WHERE b = ? AND c > ?");
    }
}
