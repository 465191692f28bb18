//! A single-flight cache for anonymous callers: one guest call serves all of them for some seconds.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_runtime::slots::{Slot, SlotUnavailable, World};
use tokio::sync::Mutex as AsyncMutex;

/// Time for which an answer is served from the cache.
const TIME_TO_LIVE: Duration = Duration::from_secs(5);

/// An answer and the time when it was computed. Locked while it is being computed.
type CacheEntry<T> = Arc<AsyncMutex<Option<(Instant, T)>>>;

/// A cache of the last answer and its key. It computes an answer once at a time.
#[derive(Debug)]
pub struct SingleFlight<K, T>(Mutex<Option<(K, CacheEntry<T>)>>);

impl<K, T> Default for SingleFlight<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, T: Clone> SingleFlight<K, T> {
    /// Returns the answer under `key`: the cached one for five seconds, also where it is a failure, then the result of
    /// `compute`. Callers wait while it is computed; when the computing caller leaves, the next one computes it. A new key
    /// replaces the cached answer immediately.
    pub async fn get(&self, key: K, compute: impl Future<Output = T>) -> T {
        self.get_at(Instant::now, key, compute).await
    }

    /// Does the same with the given clock.
    async fn get_at(&self, clock: impl Fn() -> Instant, key: K, compute: impl Future<Output = T>) -> T {
        let entry = self.entry(key);
        let mut last = entry.lock().await;
        if let Some((at, answer)) = &*last
            && clock().saturating_duration_since(*at) < TIME_TO_LIVE
        {
            return answer.clone();
        }
        let answer = compute.await;
        *last = Some((clock(), answer.clone()));
        answer
    }

    fn entry(&self, key: K) -> CacheEntry<T> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, entry)) if *known == key => Arc::clone(entry),
            _ => {
                let entry = CacheEntry::default();
                *last = Some((key, Arc::clone(&entry)));
                entry
            }
        }
    }
}

/// The serials of the active version and of the candidate, and whether the active version's circuit is open.
pub type ServingVersions = (u64, bool, Option<u64>);

/// Returns the versions of `slot` that may answer a call now.
///
/// # Errors
/// When the slot has no version.
pub fn serving_versions<W: World>(slot: &Slot<W>) -> Result<ServingVersions, SlotUnavailable> {
    let active = slot.active()?;
    let candidate = slot.candidate().map(|(candidate, _)| candidate.serial());
    Ok((active.serial(), active.circuit.is_open(), candidate))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;

    /// Waits for `release`, then counts the call.
    async fn count_after(counter: &AtomicU32, release: &Notify) -> u32 {
        release.notified().await;
        counter.fetch_add(1, Ordering::Relaxed)
    }

    #[tokio::test]
    async fn answer_is_cached_for_five_seconds() {
        let (cache, counter, start) = (SingleFlight::default(), AtomicU32::new(0), Instant::now());
        let ask = async |after: Duration| {
            let compute = async { counter.fetch_add(1, Ordering::Relaxed) };
            cache.get_at(|| start + after, (), compute).await
        };
        assert_eq!((ask(Duration::ZERO).await, ask(Duration::ZERO).await), (0, 0));
        assert_eq!(ask(TIME_TO_LIVE - Duration::from_millis(1)).await, 0);
        assert_eq!((ask(TIME_TO_LIVE).await, ask(TIME_TO_LIVE * 2 - Duration::from_millis(1)).await), (1, 1));
    }

    #[tokio::test]
    async fn concurrent_callers_cost_one_call() {
        let (cache, counter, release) = (SingleFlight::default(), AtomicU32::new(0), Notify::new());
        let callers = (0..100).map(|_| cache.get((), count_after(&counter, &release)));
        let callers = futures_util::future::join_all(callers);
        let (answers, ()) = tokio::join!(callers, async { release.notify_one() });
        assert_eq!((answers, counter.into_inner()), (vec![0; 100], 1));
    }

    #[tokio::test]
    async fn another_key_does_not_wait() {
        let (cache, counter, release) = (SingleFlight::default(), AtomicU32::new(0), Notify::new());
        tokio::select! {
            biased;
            _ = cache.get(1, count_after(&counter, &release)) => unreachable!("it is never released"),
            answer = cache.get(2, async { 7 }) => assert_eq!(answer, 7),
        }
    }

    #[tokio::test]
    async fn dropped_caller_caches_no_answer() {
        let (cache, counter, release) = (SingleFlight::default(), AtomicU32::new(0), Notify::new());
        tokio::select! {
            biased;
            _ = cache.get((), count_after(&counter, &release)) => unreachable!("it is never released"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(cache.get((), async { 7 }).await, 7);
    }
}
