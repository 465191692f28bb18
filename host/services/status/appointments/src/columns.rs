//! Finds figures without a column in the tables, by the database's catalogue, which does not wait for table locks.

use super::{
    CollectError, Lacking,
    connection::{Column::Text, Connections},
    dialect::Dialect,
};

/// Names of the time at which opening hours changed: since August 2026, and before.
pub(super) const CHANGED: [&str; 2] = ["updated_at", "updateTimestamp"];
/// The column that links an appointment to a citizen's account.
pub(super) const EXTERNAL_USER_ID: &str = "external_user_id";

/// The figures that need a table with one of these columns.
const NEEDED: [(Lacking, &str, &[&str]); 2] = [
    (Lacking::OutdatedSlots, "oeffnungszeit", &CHANGED),
    (Lacking::ExternalUserIds, "buerger", &[EXTERNAL_USER_ID]),
];

/// Returns the figures that have no column in an existing table. A missing or hidden table fails its whole section.
pub(super) async fn lacking(connections: &Connections) -> Result<Vec<Lacking>, CollectError> {
    let mut columns = Vec::new();
    for mut row in connections.rows(&catalogue(connections.dialect()), &[], &[Text, Text]).await? {
        columns.push((row.text().unwrap_or_default(), row.text().unwrap_or_default()));
    }
    let lacks = |table: &str, needed: &[&str]| {
        let mut there = columns.iter().filter(|(of, _)| of.eq_ignore_ascii_case(table)).peekable();
        let is_needed = |name: &String| needed.iter().any(|needed| needed.eq_ignore_ascii_case(name));
        there.peek().is_some() && !there.any(|(_, name)| is_needed(name))
    };
    let lacking = NEEDED.iter().filter(|(_, table, needed)| lacks(table, needed));
    Ok(lacking.map(|(lacking, ..)| *lacking).collect())
}

/// Returns the query of tables and their columns, a row each.
fn catalogue(dialect: Dialect) -> String {
    let tables = NEEDED.map(|(_, table, _)| format!("'{table}'"));
    let listed = tables.join(", ");
    match dialect {
        Dialect::MariaDb => format!(
            "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS
            WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({listed})"
        ),
        Dialect::Postgres => format!(
            "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) FROM information_schema.columns
            WHERE CAST(table_schema AS TEXT) = ANY (CAST(current_schemas(false) AS TEXT[]))
                AND table_name IN ({listed})"
        ),
        Dialect::Sqlite => tables
            .map(|table| format!("SELECT {table}, name FROM pragma_table_info({table})"))
            .join(" UNION ALL "),
    }
}
