//! Spends many challenges in one statement: what goes to the database's thread and back costs more than a spend.

use crate::records::Claim;
use bulkhead_os::ids::ordered_id;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::{Sqlite, SqliteConnection};
use std::collections::HashSet;
use uuid::Uuid;

const FIND: &str = "SELECT id FROM invalidated_payload WHERE id IN (SELECT unhex(value) FROM json_each(?))";

/// Claims of one use each, no two of one challenge, with their places in a group.
pub(super) struct ClaimBatch<'g>(Vec<(usize, &'g Claim)>);

impl<'g> ClaimBatch<'g> {
    /// Takes from a group the claims that one statement can decide; others depend on each other.
    pub(super) fn of(group: impl Iterator<Item = Option<&'g Claim>>) -> Self {
        let mut ids = HashSet::new();
        let claims = group.enumerate().filter_map(|(place, claim)| Some((place, claim?)));
        Self(claims.filter(|(_, claim)| claim.spends == 1 && ids.insert(claim.id.as_str())).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the claim, if there is only one.
    pub(super) fn single(&self) -> Option<(usize, &'g Claim)> {
        match self.0.as_slice() {
            [single] => Some(*single),
            _ => None,
        }
    }

    pub(super) fn holds(&self, place: usize) -> bool {
        self.0.binary_search_by_key(&place, |(place, _)| *place).is_ok()
    }

    /// Writes the spends, and their number into the place of each claim.
    pub(super) async fn spend(
        &self,
        connection: &mut SqliteConnection,
        answers: &mut [u64],
    ) -> Result<(), sqlx::Error> {
        let first = ordered_id().as_u128();
        let rows: Vec<u128> = (0..).map(|place| first.wrapping_add(place)).take(self.0.len()).collect();
        let mut spend = sqlx::query::<Sqlite>(AssertSqlSafe(spend_statement(rows.len())));
        for ((_, claim), row) in self.0.iter().zip(&rows) {
            let Claim { id, expires_at, now, limit, issued_here, spends: _ } = claim;
            spend = spend.bind(Uuid::from_u128(*row)).bind(id.as_str()).bind(*expires_at);
            spend = spend.bind(*now).bind(*limit).bind(*issued_here);
        }
        let written = spend.execute(&mut *connection).await?.rows_affected();
        let found = if written == self.0.len() as u64 { None } else { Some(find(&rows, connection).await?) };
        for ((place, _), row) in self.0.iter().zip(rows) {
            if let Some(answer) = answers.get_mut(*place) {
                *answer = u64::from(found.as_ref().is_none_or(|found| found.contains(&row)));
            }
        }
        Ok(())
    }
}

/// Returns the statement for so many claims, each by the values of its row's id, the challenge's id, its expiry, the time, the
/// limit, and whether it was issued here. It decides each by the rows that were there before. So that few statements are
/// prepared, it has room for a power of two; a row of values that are not bound is not a claim.
fn spend_statement(claims: usize) -> String {
    let values = vec!["(?,?,?,?,?,?)"; claims.next_power_of_two()].join(",");
    format!(
        "INSERT INTO invalidated_payload (id, payload_hash, expires_at)
        SELECT column1, column2, column3 FROM (VALUES {values})
        WHERE column5 > 0
            AND (SELECT count(*) FROM invalidated_payload AS spent
                WHERE unhex(spent.payload_hash) = unhex(column2) AND spent.expires_at >= column4) < column5
            AND (column6 OR NOT EXISTS (SELECT 1 FROM bulkhead_sweep WHERE swept_to > column3))"
    )
}

/// Returns those of `rows` that were written.
async fn find(rows: &[u128], connection: &mut SqliteConnection) -> Result<HashSet<u128>, sqlx::Error> {
    let rows: Vec<String> = rows.iter().map(|row| format!("\"{row:032x}\"")).collect();
    let found: Vec<Uuid> =
        sqlx::query_scalar(FIND).bind(format!("[{}]", rows.join(","))).fetch_all(connection).await?;
    Ok(found.iter().map(Uuid::as_u128).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::schema::{SQLITE_SWEEP, Table};
    use sqlx::{ConnectOptions as _, sqlite::SqliteConnectOptions};

    #[tokio::test]
    async fn spends_are_counted_in_the_index() {
        let mut ledger = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        for create in [Table::InvalidatedPayload.sqlite(), SQLITE_SWEEP] {
            sqlx::raw_sql(create).execute(&mut ledger).await.unwrap();
        }
        let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", spend_statement(3)));
        let steps: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(explain).fetch_all(&mut ledger).await.unwrap();
        // Each of ten thousand spends of one challenge would be read from the table otherwise, at every claim.
        let counts = |(_, _, _, step): &(i64, i64, i64, String)| {
            step.starts_with("SEARCH spent USING COVERING INDEX") && step.contains("expires_at>")
        };
        assert!(steps.iter().any(counts), "{steps:?}");
    }
}
