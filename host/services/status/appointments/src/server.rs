//! Reads the figures of the database server, each from its own views.
//!
//! | figure | MariaDB | PostgreSQL | SQLite |
//! | --- | --- | --- | --- |
//! | connections | `Threads_connected` | sum of `pg_stat_database.numbackends` | 1 |
//! | limit | `max_connections` | `max_connections` | none |
//! | lock waits | `Innodb_row_lock_current_waits` | `pg_locks` not granted | 0 |
//! | cluster | `wsrep_ready` | a replica, or a primary that one follows | none |
//! | replication log | `log_bin` | `wal_level` above `minimal` | no |
//! | sizes | `tmp_table_size`, `max_heap_table_size` | none | none |

use std::collections::BTreeMap;

use super::{
    CollectError, Database,
    connection::{
        Column::{Integer, Text},
        Connections,
    },
    dialect::Dialect,
};

/// Sizes that matter for the system's queries, MariaDB's names.
const SIZES: [&str; 2] = ["tmp_table_size", "max_heap_table_size"];

pub(super) async fn database(connections: &Connections) -> Result<Database, CollectError> {
    match connections.dialect() {
        Dialect::MariaDb => mariadb(connections).await,
        Dialect::Postgres => postgres(connections).await,
        Dialect::Sqlite => sqlite(connections).await,
    }
}

async fn mariadb(connections: &Connections) -> Result<Database, CollectError> {
    let mut known = BTreeMap::new();
    for query in [
        "SHOW VARIABLES WHERE Variable_name IN
            ('tmp_table_size', 'max_heap_table_size', 'max_connections', 'log_bin')",
        "SHOW GLOBAL STATUS WHERE Variable_name IN
            ('Threads_connected', 'Innodb_row_lock_current_waits', 'wsrep_ready')",
    ] {
        for mut row in connections.rows(query, &[], &[Text, Text]).await? {
            known.insert(row.text().unwrap_or_default().to_ascii_lowercase(), row.text().unwrap_or_default());
        }
    }
    let number = |name: &str| known.get(name).and_then(|text| text.parse::<u64>().ok());
    let on = |name: &str| known.get(name).map(|text| text.eq_ignore_ascii_case("on"));
    let size = |name: &&str| Some(((*name).to_owned(), number(name)?));
    Ok(Database {
        connections: number("threads_connected").unwrap_or(0),
        connection_limit: number("max_connections"),
        lock_waits: number("innodb_row_lock_current_waits").unwrap_or(0),
        cluster_ready: on("wsrep_ready"),
        replication_log: on("log_bin").unwrap_or(false),
        size_settings: SIZES.iter().filter_map(size).collect(),
    })
}

async fn postgres(connections: &Connections) -> Result<Database, CollectError> {
    let query = "SELECT
        (SELECT CAST(COALESCE(SUM(numbackends), 0) AS BIGINT) FROM pg_stat_database),
        CAST(current_setting('max_connections') AS BIGINT),
        (SELECT COUNT(*) FROM pg_locks WHERE NOT granted),
        CASE WHEN pg_is_in_recovery() THEN 1 ELSE (SELECT COUNT(*) FROM pg_stat_replication) END,
        CASE WHEN current_setting('wal_level') = 'minimal' THEN CAST(0 AS BIGINT) ELSE 1 END";
    let mut rows = connections.rows(query, &[], &[Integer; 5]).await?;
    let Some(mut row) = rows.pop() else { return Ok(Database::default()) };
    Ok(Database {
        connections: row.count(),
        connection_limit: Some(row.count()),
        lock_waits: row.count(),
        cluster_ready: Some(row.count() > 0),
        replication_log: row.count() > 0,
        size_settings: Vec::new(),
    })
}

/// Returns the figures of an embedded database, which has no server: only that it can be opened.
async fn sqlite(connections: &Connections) -> Result<Database, CollectError> {
    connections.rows("SELECT COUNT(*) FROM sqlite_master", &[], &[Integer]).await?;
    Ok(Database { connections: 1, ..Database::default() })
}
