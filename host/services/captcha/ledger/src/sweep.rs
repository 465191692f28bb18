//! Deleting what expired: the places of expired rows are found in one scan, then deleted in batches, so that no
//! statement holds locks for long.

use super::StorageError;
use super::records::Swept;
use super::schema::Table;

/// Rows that one statement deletes.
pub(super) const BATCH: usize = 1000;

/// Places of rows that one scan finds at most; they are held in memory.
pub(super) const SCAN: usize = 100_000;

/// A store whose rows expire.
pub(super) trait Expire {
    /// Where a row is.
    type Place;

    /// The places of at most [`SCAN`] rows that have expired.
    async fn expired(&mut self, table: Table) -> Result<Vec<Self::Place>, StorageError>;

    /// Deletes those of `places` that have expired; how many.
    async fn delete(&mut self, table: Table, places: &[Self::Place]) -> Result<u64, StorageError>;
}

/// Deletes from every table what has expired.
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
            let places = store.expired(table).await?;
            for batch in places.chunks(BATCH) {
                *deleted += store.delete(table, batch).await?;
            }
            if places.len() < SCAN {
                break;
            }
        }
    }
    Ok(swept)
}
