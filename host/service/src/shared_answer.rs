//! Answers to anonymous callers: however many ask, a guest is called once at a time, and not again for some seconds.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bulkhead_runtime::slots::{Slot, SlotUnavailable, World};
use tokio::sync::Mutex as AsyncMutex;

/// How long an answer is given to all who ask.
const SHARED_FOR: Duration = Duration::from_secs(5);

/// An answer and when it was made. Locked while it is being made.
type Cell<T> = Arc<AsyncMutex<Option<(Instant, T)>>>;

/// The last answer, and the key that it was made under.
#[derive(Debug)]
pub struct SharedAnswer<K, T>(Mutex<Option<(K, Cell<T>)>>);

impl<K, T> Default for SharedAnswer<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, T: Clone> SharedAnswer<K, T> {
    /// The answer under `key`: the last one for five seconds, a failure too, then what `make` gives. Callers that ask
    /// while it is made wait for it; when the one that makes it leaves, the next one makes it. Another key counts at once.
    pub async fn get(&self, key: K, make: impl Future<Output = T>) -> T {
        self.get_by(Instant::now, key, make).await
    }

    /// The same by another clock.
    async fn get_by(&self, clock: impl Fn() -> Instant, key: K, make: impl Future<Output = T>) -> T {
        let cell = self.cell(key);
        let mut last = cell.lock().await;
        if let Some((at, answer)) = &*last
            && clock().saturating_duration_since(*at) < SHARED_FOR
        {
            return answer.clone();
        }
        let answer = make.await;
        *last = Some((clock(), answer.clone()));
        answer
    }

    fn cell(&self, key: K) -> Cell<T> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, cell)) if *known == key => Arc::clone(cell),
            _ => {
                let cell = Cell::default();
                *last = Some((key, Arc::clone(&cell)));
                cell
            }
        }
    }
}

/// The versions that may answer a call now: the active one, whether its circuit is open, and the candidate.
pub type Versions = (u64, bool, Option<u64>);

/// The serials of the versions of `slot` that may answer a call.
///
/// # Errors
/// When the slot has no version.
pub fn versions<W: World>(slot: &Slot<W>) -> Result<Versions, SlotUnavailable> {
    let active = slot.active()?;
    let candidate = slot.candidate().map(|(candidate, _)| candidate.serial());
    Ok((active.serial(), active.circuit.is_open(), candidate))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;

    /// Counts how often it is made, and waits for `gate` first.
    async fn made(counter: &AtomicU32, gate: &Notify) -> u32 {
        gate.notified().await;
        counter.fetch_add(1, Ordering::Relaxed)
    }

    #[tokio::test]
    async fn an_answer_is_shared_for_five_seconds() {
        let (shared, counter, began) = (SharedAnswer::default(), AtomicU32::new(0), Instant::now());
        let ask = async |after: Duration| {
            let make = async { counter.fetch_add(1, Ordering::Relaxed) };
            shared.get_by(|| began + after, (), make).await
        };
        assert_eq!((ask(Duration::ZERO).await, ask(Duration::ZERO).await), (0, 0));
        assert_eq!(ask(SHARED_FOR - Duration::from_millis(1)).await, 0);
        assert_eq!((ask(SHARED_FOR).await, ask(SHARED_FOR * 2 - Duration::from_millis(1)).await), (1, 1));
    }

    #[tokio::test]
    async fn callers_at_once_cost_one_call() {
        let (shared, counter, gate) = (SharedAnswer::default(), AtomicU32::new(0), Notify::new());
        let callers = (0..100).map(|_| shared.get((), made(&counter, &gate)));
        let callers = futures_util::future::join_all(callers);
        let (answers, ()) = tokio::join!(callers, async { gate.notify_one() });
        assert_eq!((answers, counter.into_inner()), (vec![0; 100], 1));
    }

    #[tokio::test]
    async fn another_key_waits_for_nothing() {
        let (shared, counter, gate) = (SharedAnswer::default(), AtomicU32::new(0), Notify::new());
        tokio::select! {
            biased;
            _ = shared.get(1, made(&counter, &gate)) => unreachable!("nobody opens the gate"),
            answer = shared.get(2, async { 7 }) => assert_eq!(answer, 7),
        }
    }

    #[tokio::test]
    async fn a_caller_that_leaves_leaves_no_answer() {
        let (shared, counter, gate) = (SharedAnswer::default(), AtomicU32::new(0), Notify::new());
        tokio::select! {
            biased;
            _ = shared.get((), made(&counter, &gate)) => unreachable!("nobody opens the gate"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(shared.get((), async { 7 }).await, 7);
    }
}
