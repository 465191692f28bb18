//! Bounds how long a call and upkeep wait for the database.

use super::StorageError;
use std::future::Future;
use std::time::Duration;

/// Longest wait of a call for an answer, the wait for a connection included, unless [`LedgerOptions`](super::LedgerOptions) say
/// otherwise: two waits in a row leave time within a captcha call's deadline to answer without the database.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest wait of upkeep, which no call waits for: a count reads whole tables.
const UPKEEP_TIMEOUT: Duration = Duration::from_secs(5);

/// Waits `limit` at most. The answer's future moves to the heap at once: a database's is kilobytes large,
/// and every caller up to the guest's would carry it whatever the database is.
pub(super) fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, StorageError>>,
) -> impl Future<Output = Result<T, StorageError>> {
    within_or(limit, answer, |_| {})
}

/// Waits `limit` at most, and passes the fault to `late` when the time is over.
pub(super) fn within_or<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, StorageError>>,
    late: impl FnOnce(StorageError),
) -> impl Future<Output = Result<T, StorageError>> {
    let answer = Box::pin(answer);
    async move {
        if let Ok(answer) = tokio::time::timeout(limit, answer).await {
            return answer;
        }
        let fault = StorageError::Unavailable(format!("no answer within {} ms", limit.as_millis()));
        late(fault.clone());
        Err(fault)
    }
}

/// Waits as long as upkeep may.
pub(super) fn in_time<T>(
    answer: impl Future<Output = Result<T, StorageError>>,
) -> impl Future<Output = Result<T, StorageError>> {
    within(UPKEEP_TIMEOUT, answer)
}
