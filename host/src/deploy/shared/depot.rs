use std::{collections::BTreeMap, str::FromStr as _, time::Duration};

use sqlx::{
    ConnectOptions as _, Connection as _,
    postgres::{PgConnectOptions, PgConnection},
};
use tokio::time::timeout;
use uuid::Uuid;

use super::{DepotError, schema};
use crate::{
    config::slots::SlotId,
    deploy::{Book, vault::Blob},
    pool::{Lease, Pool},
    telemetry::shortened,
};

/// Where changes are told of.
pub(super) const CHANNEL: &str = "bulkhead_slots";
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where components travel: tens of megabytes over a slow line.
const LONG_PATIENCE: Duration = Duration::from_secs(30);
/// What the server ends by itself, so that a host that has gone holds no lock.
const LIMITS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '4s';
    SET idle_in_transaction_session_timeout = '30s'";

/// A slot's row, its book left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) stamp: String,
    /// None where it is no generation.
    pub(super) generation: Option<u64>,
}

/// The tables of the shared state.
pub(super) struct Depot {
    pub(super) options: PgConnectOptions,
    pool: Pool<sqlx::Postgres>,
}

impl Depot {
    /// Connects when first needed.
    pub(super) fn new(url: &str) -> Result<Self, DepotError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| DepotError::Url)?
            .application_name("bulkhead")
            .disable_statement_logging();
        let pool = Pool::new(options.clone(), Box::new(|connection| Box::pin(ready(connection))));
        Ok(Self { options, pool })
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    async fn lease(&self) -> Result<Lease<sqlx::Postgres>, DepotError> {
        Ok(self.pool.lease().await?)
    }

    /// What there is of every slot.
    pub(super) async fn heads(&self) -> Result<BTreeMap<String, Head>, DepotError> {
        let mut lease = self.lease().await?;
        let query = sqlx::query_as::<_, (String, String, i64)>(
            "SELECT slot, stamp, generation FROM bulkhead_slot LIMIT 100",
        );
        let rows = within(PATIENCE, async { Ok(query.fetch_all(&mut lease.connection).await?) }).await?;
        lease.keep();
        let head = |(slot, stamp, generation): (String, String, i64)| {
            (slot, Head { stamp, generation: u64::try_from(generation).ok() })
        };
        Ok(rows.into_iter().map(head).collect())
    }

    /// A slot's book and its stamp.
    pub(super) async fn book(&self, slot: SlotId) -> Result<Option<Book>, DepotError> {
        let mut lease = self.lease().await?;
        let query = sqlx::query_as::<_, Row>(
            "SELECT stamp, generation, book::text FROM bulkhead_slot WHERE slot = $1",
        );
        let query = query.bind(slot.as_str()).fetch_optional(&mut lease.connection);
        let row = within(PATIENCE, async { Ok(query.await?) }).await?;
        lease.keep();
        row.map(|row| read(slot, row)).transpose()
    }

    /// A component of no more than `cap` bytes.
    pub(super) async fn component(
        &self,
        slot: SlotId,
        component: &str,
        cap: usize,
    ) -> Result<Blob, DepotError> {
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
        let row = within(LONG_PATIENCE, async { Ok(query.await?) }).await?;
        lease.keep();
        let (wasm, signature) = row.ok_or_else(|| DepotError::Absent(component.to_owned()))?;
        Ok(Blob { component: component.to_owned(), wasm: wasm.into(), signature })
    }

    /// Which of these components it does not have.
    pub(super) async fn missing(
        &self,
        slot: SlotId,
        components: &[String],
    ) -> Result<Vec<String>, DepotError> {
        let mut lease = self.lease().await?;
        let query = sqlx::query_scalar::<_, String>(
            "SELECT component FROM bulkhead_component WHERE slot = $1 AND component = ANY($2)",
        );
        let query = query.bind(slot.as_str()).bind(components).fetch_all(&mut lease.connection);
        let known = within(PATIENCE, async { Ok(query.await?) }).await?;
        lease.keep();
        Ok(components.iter().filter(|component| !known.contains(component)).cloned().collect())
    }

    /// Puts `book` in place of the one that had its stamp, with components, of which those that are in `named` stay; the
    /// new stamp. In one transaction, which holds the slot's row from its first statement on.
    pub(super) async fn publish(
        &self,
        slot: SlotId,
        book: &Book,
        named: &[String],
        blobs: &[Blob],
    ) -> Result<String, DepotError> {
        let stamp = Uuid::new_v4().to_string();
        let text = serde_json::to_string(book).map_err(|error| DepotError::away(error.to_string()))?;
        let mut lease = self.lease().await?;
        let patience = if blobs.is_empty() { PATIENCE } else { LONG_PATIENCE };
        let (slot, seen) = (slot.as_str(), book.stamp.as_deref());
        within(patience, async {
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
                .bind(book.generation.cast_signed())
                .bind(text)
                .bind(seen)
                .execute(&mut *transaction)
                .await?;
            if written.rows_affected() == 0 {
                transaction.rollback().await?;
                return Err(DepotError::Overtaken);
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
        lease.keep();
        Ok(stamp)
    }
}

/// A slot's row: its stamp, its generation and its book.
type Row = (String, i64, Option<String>);

/// The book of a row, which somebody may have changed by hand.
fn read(slot: SlotId, (stamp, generation, text): Row) -> Result<Book, DepotError> {
    let unreadable =
        |reason: String| DepotError::Unreadable { slot: slot.as_str(), reason: shortened(reason) };
    if generation < 0 {
        return Err(unreadable(format!("its generation is {generation}")));
    }
    let text = text.ok_or_else(|| unreadable("it has no book".to_owned()))?;
    let book: Book = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    Ok(Book { stamp: Some(stamp), ..book })
}

/// Readies a new connection.
async fn ready(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(LIMITS).execute(&mut *connection).await?;
    schema::prepare(connection).await
}

/// Waits no longer than `patience`. The future moves to the heap at once: a driver's is kilobytes large.
async fn within<T>(
    patience: Duration,
    answer: impl Future<Output = Result<T, DepotError>>,
) -> Result<T, DepotError> {
    match timeout(patience, Box::pin(answer)).await {
        Ok(answer) => answer,
        Err(_) => {
            Err(DepotError::away(format!("the database did not answer within {} s", patience.as_secs())))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read_row(generation: i64, text: Option<&str>) -> Result<Book, DepotError> {
        read(SlotId::new("captcha"), ("stamp".into(), generation, text.map(str::to_owned)))
    }

    #[test]
    fn a_row_that_is_no_book_is_named() {
        let whole = serde_json::to_string(&Book::default()).unwrap();
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
            assert!(matches!(error, DepotError::Unreadable { slot: "captcha", .. }), "{error:?}");
            let said = error.to_string();
            assert!(said.starts_with("the row of slot captcha in bulkhead_slot cannot be read: "), "{said}");
            assert!(said.contains("delete it") && !said.contains("SlotId"), "{said}");
        }
    }
}
