//! The tables of the shared state: slots and their components.

use sqlx::{Connection as _, postgres::PgConnection};

/// Advisory lock for creating the tables. Whatever else uses the database takes another number.
const LOCK: i64 = 0x6275_6c6b_6865_6166;

/// Queries that read nothing and fail if a column is missing.
const PROBES: [&str; 2] = [
    "SELECT slot, stamp, generation, book, changed_at FROM bulkhead_slot LIMIT 0",
    "SELECT slot, component, wasm, signature FROM bulkhead_component LIMIT 0",
];

const EXIST: &str =
    "SELECT to_regclass('bulkhead_slot') IS NOT NULL AND to_regclass('bulkhead_component') IS NOT NULL";

const CREATE: &str = "
    CREATE TABLE IF NOT EXISTS bulkhead_slot (
        slot varchar(64) NOT NULL PRIMARY KEY,
        stamp varchar(36) NOT NULL,
        generation bigint NOT NULL,
        book json NOT NULL,
        changed_at timestamptz NOT NULL
    );
    CREATE TABLE IF NOT EXISTS bulkhead_component (
        slot varchar(64) NOT NULL,
        component varchar(71) NOT NULL,
        wasm bytea NOT NULL,
        signature text,
        PRIMARY KEY (slot, component)
    );";

/// Creates missing tables, one host at a time, and checks the columns of existing ones.
pub(super) async fn prepare(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let exist: bool = sqlx::query_scalar(EXIST).fetch_one(&mut *connection).await?;
    if !exist {
        let mut transaction = connection.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *transaction).await?;
        sqlx::raw_sql(CREATE).execute(&mut *transaction).await?;
        transaction.commit().await?;
    }
    for probe in PROBES {
        sqlx::query(probe).execute(&mut *connection).await?;
    }
    Ok(())
}
