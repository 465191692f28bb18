//! Deletes expired rows: their ids are found in one scan, then deleted in batches, so that no
//! statement holds locks for long.

use super::StorageError;
use super::records::Swept;
use super::schema::Table;

/// Rows that one statement deletes.
pub(super) const BATCH: usize = 1000;

/// Most row ids that one scan finds; they are held in memory.
pub(super) const SCAN: usize = 100_000;

/// A store whose rows expire.
pub(super) trait Expire {
    /// The id of a row.
    type RowId;

    /// Returns the ids of at most [`SCAN`] rows that have expired.
    async fn expired(&mut self, table: Table) -> Result<Vec<Self::RowId>, StorageError>;

    /// Deletes those of `row_ids` that have expired, and returns their number.
    async fn delete(&mut self, table: Table, row_ids: &[Self::RowId]) -> Result<u64, StorageError>;
}

/// Deletes the expired rows of every table.
pub(super) async fn sweep(store: &mut impl Expire) -> Result<Swept, StorageError> {
    let mut swept = Swept::default();
    for table in Table::ALL {
        let deleted = match table {
            Table::CaptchaRequest => &mut swept.captcha_request,
            Table::InvalidatedPayload => &mut swept.invalidated_payload,
            Table::Failure => &mut swept.failures,
            Table::SiteVisits => &mut swept.site_visits,
        };
        loop {
            let row_ids = store.expired(table).await?;
            for batch in row_ids.chunks(BATCH) {
                *deleted += store.delete(table, batch).await?;
            }
            if row_ids.len() < SCAN {
                break;
            }
        }
    }
    Ok(swept)
}
