//! The PostgreSQL store of the shared state.

use std::{collections::BTreeMap, str::FromStr as _, time::Duration};

use bulkhead_config::slots::SlotId;
use bulkhead_database::{Lease, Pool};
use bulkhead_telemetry::shortened;
use sqlx::{
    ConnectOptions as _, Connection as _,
    postgres::{PgConnectOptions, PgConnection},
};
use tokio::time::timeout;
use uuid::Uuid;

use super::{SharedStoreError, schema};
use crate::{SlotState, state::Blob};

/// Channel of the change notifications.
pub(super) const CHANNEL: &str = "bulkhead_slots";
/// Limit of a query's time.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit of the time for components: tens of megabytes over a slow line.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(30);
/// Limits that the server enforces, so that a host that has stopped holds no lock.
const SESSION_LIMITS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '4s';
    SET idle_in_transaction_session_timeout = '30s'";

/// The stamp and generation of a slot's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotHead {
    pub(crate) stamp: String,
    /// `None` if the stored number is negative.
    pub(crate) generation: Option<u64>,
}

/// The tables of the shared state.
pub(crate) struct SharedStore {
    pub(super) options: PgConnectOptions,
    pool: Pool<sqlx::Postgres>,
}

impl SharedStore {
    /// Returns a store that connects on first use.
    pub(super) fn new(url: &str) -> Result<Self, SharedStoreError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| SharedStoreError::InvalidUrl)?
            .application_name("bulkhead")
            .disable_statement_logging();
        let pool =
            Pool::new(options.clone(), Box::new(|connection| Box::pin(prepare_connection(connection))));
        Ok(Self { options, pool })
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    async fn lease(&self) -> Result<Lease<sqlx::Postgres>, SharedStoreError> {
        Ok(self.pool.lease().await?)
    }

    /// Returns the head of every slot by its name.
    pub(super) async fn heads(&self) -> Result<BTreeMap<String, SlotHead>, SharedStoreError> {
        let mut lease = self.lease().await?;
        let query = sqlx::query_as::<_, (String, String, i64)>(
            "SELECT slot, stamp, generation FROM bulkhead_slot LIMIT 100",
        );
        let rows = within(QUERY_TIMEOUT, async { Ok(query.fetch_all(&mut lease.connection).await?) }).await?;
        lease.release();
        let head = |(slot, stamp, generation): (String, String, i64)| {
            (slot, SlotHead { stamp, generation: u64::try_from(generation).ok() })
        };
        Ok(rows.into_iter().map(head).collect())
    }

    /// Returns a slot's state with its stamp.
    pub(crate) async fn state(&self, slot: SlotId) -> Result<Option<SlotState>, SharedStoreError> {
        let mut lease = self.lease().await?;
        let query = sqlx::query_as::<_, SlotRow>(
            "SELECT stamp, generation, book::text FROM bulkhead_slot WHERE slot = $1",
        );
        let query = query.bind(slot.as_str()).fetch_optional(&mut lease.connection);
        let row = within(QUERY_TIMEOUT, async { Ok(query.await?) }).await?;
        lease.release();
        row.map(|row| read(slot, row)).transpose()
    }

    /// Returns a component of at most `cap` bytes.
    pub(crate) async fn component(
        &self,
        slot: SlotId,
        component: &str,
        cap: usize,
    ) -> Result<Blob, SharedStoreError> {
        let mut lease = self.lease().await?;
        let query = sqlx::query_as::<_, (Vec<u8>, Option<String>)>(
            "SELECT wasm, signature FROM bulkhead_component
                WHERE slot = $1 AND component = $2 AND octet_length(wasm) <= $3",
        );
        let query = query
            .bind(slot.as_str())
            .bind(component)
            .bind(i64::try_from(cap).unwrap_or(i64::MAX))
            .fetch_optional(&mut lease.connection);
        let row = within(TRANSFER_TIMEOUT, async { Ok(query.await?) }).await?;
        lease.release();
        let (wasm, signature) =
            row.ok_or_else(|| SharedStoreError::MissingComponent(component.to_owned()))?;
        Ok(Blob { component: component.to_owned(), wasm: wasm.into(), signature })
    }

    /// Returns which of these components the database lacks.
    pub(crate) async fn missing(
        &self,
        slot: SlotId,
        components: &[String],
    ) -> Result<Vec<String>, SharedStoreError> {
        let mut lease = self.lease().await?;
        let query = sqlx::query_scalar::<_, String>(
            "SELECT component FROM bulkhead_component WHERE slot = $1 AND component = ANY($2)",
        );
        let query = query.bind(slot.as_str()).bind(components).fetch_all(&mut lease.connection);
        let known = within(QUERY_TIMEOUT, async { Ok(query.await?) }).await?;
        lease.release();
        Ok(components.iter().filter(|component| !known.contains(component)).cloned().collect())
    }

    /// Replaces the state whose stamp `state` has, adds `blobs`, and deletes the components that are not in
    /// `named`; returns the new stamp. Runs in one transaction, which locks the slot's row with its first
    /// statement.
    pub(crate) async fn publish(
        &self,
        slot: SlotId,
        state: &SlotState,
        named: &[String],
        blobs: &[Blob],
    ) -> Result<String, SharedStoreError> {
        let stamp = Uuid::new_v4().to_string();
        let text =
            serde_json::to_string(state).map_err(|error| SharedStoreError::unreachable(error.to_string()))?;
        let mut lease = self.lease().await?;
        let limit = if blobs.is_empty() { QUERY_TIMEOUT } else { TRANSFER_TIMEOUT };
        let (slot, seen) = (slot.as_str(), state.stamp.as_deref());
        within(limit, async {
            let mut transaction = lease.connection.begin().await?;
            let written = sqlx::query(
                "INSERT INTO bulkhead_slot AS known (slot, stamp, generation, book, changed_at)
                VALUES ($1, $2, $3, $4::json, now())
                ON CONFLICT (slot) DO UPDATE SET stamp = excluded.stamp, generation = excluded.generation,
                    book = excluded.book, changed_at = excluded.changed_at
                WHERE known.stamp = $5 AND known.generation <= excluded.generation",
            );
            let written = written
                .bind(slot)
                .bind(&stamp)
                .bind(state.generation.cast_signed())
                .bind(text)
                .bind(seen)
                .execute(&mut *transaction)
                .await?;
            if written.rows_affected() == 0 {
                transaction.rollback().await?;
                return Err(SharedStoreError::Conflict);
            }
            for blob in blobs {
                sqlx::query(
                    "INSERT INTO bulkhead_component AS known (slot, component, wasm, signature)
                    VALUES ($1, $2, $3, $4) ON CONFLICT (slot, component) DO UPDATE
                    SET signature = coalesce(excluded.signature, known.signature)",
                )
                .bind(slot)
                .bind(&blob.component)
                .bind(&*blob.wasm)
                .bind(&blob.signature)
                .execute(&mut *transaction)
                .await?;
            }
            sqlx::query("DELETE FROM bulkhead_component WHERE slot = $1 AND NOT component = ANY($2)")
                .bind(slot)
                .bind(named)
                .execute(&mut *transaction)
                .await?;
            sqlx::query("SELECT pg_notify($1, $2)")
                .bind(CHANNEL)
                .bind(slot)
                .execute(&mut *transaction)
                .await?;
            Ok(transaction.commit().await?)
        })
        .await?;
        lease.release();
        Ok(stamp)
    }
}

/// A slot's row: stamp, generation and state.
type SlotRow = (String, i64, Option<String>);

/// Parses a row, which may have been edited by hand.
fn read(slot: SlotId, (stamp, generation, text): SlotRow) -> Result<SlotState, SharedStoreError> {
    let unreadable =
        |reason: String| SharedStoreError::Unreadable { slot: slot.as_str(), reason: shortened(reason) };
    if generation < 0 {
        return Err(unreadable(format!("its generation is {generation}")));
    }
    let text = text.ok_or_else(|| unreadable("its column book is null".to_owned()))?;
    let state: SlotState = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    Ok(SlotState { stamp: Some(stamp), ..state })
}

/// Prepares a new connection.
async fn prepare_connection(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(SESSION_LIMITS).execute(&mut *connection).await?;
    schema::prepare(connection).await
}

/// Waits at most `limit`. The future is boxed at once, because a driver's future is kilobytes large.
async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, SharedStoreError>>,
) -> Result<T, SharedStoreError> {
    match timeout(limit, Box::pin(answer)).await {
        Ok(answer) => answer,
        Err(_) => Err(SharedStoreError::unreachable(format!(
            "the database did not answer within {} s",
            limit.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read_row(generation: i64, text: Option<&str>) -> Result<SlotState, SharedStoreError> {
        read(SlotId::new("captcha"), ("stamp".into(), generation, text.map(str::to_owned)))
    }

    #[test]
    fn invalid_row_is_reported_with_its_slot() {
        let whole = serde_json::to_string(&SlotState::default()).unwrap();
        let negative = whole.replace("\"generation\":0", "\"generation\":-1");
        assert_eq!(read_row(0, Some(&whole)).unwrap().stamp.as_deref(), Some("stamp"));
        for (generation, text) in [
            (0, Some("null")),
            (0, Some("[[[")),
            (0, Some("")),
            (0, Some(&*negative)),
            (0, None),
            (-1, Some(&*whole)),
        ] {
            let error = read_row(generation, text).unwrap_err();
            assert!(matches!(error, SharedStoreError::Unreadable { slot: "captcha", .. }), "{error:?}");
            let said = error.to_string();
            assert!(said.starts_with("the row of slot captcha in bulkhead_slot cannot be read: "), "{said}");
            assert!(said.contains("delete it") && !said.contains("SlotId"), "{said}");
        }
    }
}
