//! Whether a connection is at work: the clock behind the header, idle and slow-reader timers.
//!
//! hyper's own header timer does not run before the protocol version is known, has no counterpart in
//! HTTP/2, and runs on while an answer is still being written, which cuts off slow readers. So each
//! connection is timed here, in one way for both protocols.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// An answer that the client takes in slowly but steadily has at least this long. Bounded because
/// HTTP/2 pings also make us write.
const FLUSH_LIMIT: Duration = Duration::from_secs(300);

/// The state of one connection, shared by its stream, its requests and its timer.
#[derive(Debug)]
pub(super) struct Pulse {
    start: Instant,
    /// Handlers that run, and answers that wait for their source.
    busy: AtomicUsize,
    begun: AtomicBool,
    /// When the last of them ended, milliseconds after `start`.
    ended: AtomicU64,
    /// When the client last took bytes, milliseconds after `start`.
    wrote: AtomicU64,
    /// The present request's body was not read to its end.
    unread: AtomicBool,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            busy: AtomicUsize::new(0),
            begun: AtomicBool::new(false),
            ended: AtomicU64::new(0),
            wrote: AtomicU64::new(0),
            unread: AtomicBool::new(false),
        }
    }

    /// Whether it has ever been at work.
    pub(super) fn begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// The connection is at work until the answer is dropped.
    pub(super) fn turn(self: &Arc<Self>) -> Turn {
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.begun.store(true, Ordering::Release);
        Turn(Arc::clone(self))
    }

    /// The client took bytes.
    pub(super) fn wrote(&self) {
        self.wrote.store(self.elapsed(), Ordering::Release);
    }

    /// Notes whether the client may still be sending a body that nobody reads.
    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Ordering::Release);
    }

    pub(super) fn unread(&self) -> bool {
        self.unread.load(Ordering::Acquire)
    }

    /// Resolves once the connection has been without work for `limit`.
    pub(super) async fn idle(&self, limit: Duration) {
        loop {
            let now = Instant::now();
            let due = self.due(now, limit);
            if due <= now {
                return;
            }
            sleep_until(due).await;
        }
    }

    fn due(&self, now: Instant, limit: Duration) -> Instant {
        if self.busy.load(Ordering::Acquire) > 0 {
            return now + limit.max(Duration::from_millis(1));
        }
        let ended = self.start + Duration::from_millis(self.ended.load(Ordering::Acquire));
        let wrote = self.start + Duration::from_millis(self.wrote.load(Ordering::Acquire));
        (ended.max(wrote) + limit).min(ended + limit.max(FLUSH_LIMIT))
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// One piece of work on a connection; ends when dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Pulse>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.ended.store(self.0.elapsed(), Ordering::Release);
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// When an idle connection is due, seconds after its start, its last work and progress being at these.
    fn due(ended: u64, wrote: u64) -> u64 {
        let pulse = Pulse::new();
        pulse.ended.store(ended * 1000, Ordering::Release);
        pulse.wrote.store(wrote * 1000, Ordering::Release);
        (pulse.due(pulse.start, LIMIT) - pulse.start).as_secs()
    }

    #[test]
    fn idleness_counts_from_the_start_the_last_work_or_the_last_progress() {
        assert_eq!(due(0, 0), 10);
        assert_eq!(due(57, 3), 67);
        assert_eq!(due(57, 60), 70);
    }

    #[test]
    fn progress_alone_does_not_keep_a_connection_for_ever() {
        assert_eq!(due(57, 5000), 357);
    }

    #[test]
    fn a_connection_at_work_is_never_due() {
        let pulse = Arc::new(Pulse::new());
        let (first, second) = (pulse.turn(), pulse.turn());
        let later = pulse.start + Duration::from_secs(1000);
        drop(first);
        assert!(pulse.due(later, LIMIT) > later);
        drop(second);
        assert!(pulse.due(later, LIMIT) < later);
    }
}
