//! Tracks the activity of a connection, for the header, idle and slow-reader timeouts.
//!
//! hyper's own header timer does not run before the protocol version is known, has no counterpart in
//! HTTP/2, and runs on while an answer is still being written, which cuts off slow readers. So each
//! connection is timed here, in one way for both protocols.

use std::{
    future::poll_fn,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::observer::ConnectionFault;

/// The least time for an answer that the client reads slowly but steadily. Bounded because HTTP/2 pings also cause
/// writes.
const FLUSH_LIMIT: Duration = Duration::from_secs(300);
/// Marks a time that has not come.
const NEVER: u64 = u64::MAX;

/// How long a connection may be without work.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleLimits {
    /// Until its first request head is complete, from the first byte of a later one, and while an answer is not read.
    pub(super) head: Duration,
    /// Between an answer and the first byte of the next request.
    pub(super) keep_alive: Duration,
}

impl IdleLimits {
    /// Returns the limits with `more` time.
    pub(super) fn later(self, more: Duration) -> Self {
        Self { head: self.head + more, keep_alive: self.keep_alive + more }
    }
}

/// The state of one connection, shared by its stream, its requests, its timer and the limit of connections.
#[derive(Debug)]
pub(super) struct ConnectionActivity {
    start: Instant,
    /// Handlers that run, and answers that wait for their source.
    busy: AtomicUsize,
    has_begun: AtomicBool,
    /// The connection uses HTTP/2, whose frames also arrive without a request.
    multiplexed: AtomicBool,
    /// Requests whose bodies the client has yet to send on.
    awaited: AtomicUsize,
    /// When the wait for the first of them began, milliseconds after `start`.
    awaited_since: AtomicU64,
    /// When the last handler or answer ended, milliseconds after `start`.
    ended: AtomicU64,
    /// When the client last took bytes, milliseconds after `start`.
    last_write: AtomicU64,
    /// Answers of which the client has not taken enough yet for their last byte to be written.
    unfinished: AtomicUsize,
    /// Bytes of an answer may wait to be written, although its body has been handed over.
    buffered: AtomicBool,
    /// The parser refused a request head.
    refused: OnceLock<ConnectionFault>,
    /// The client has yet to take bytes before more can be written.
    blocked: AtomicBool,
    /// When an answer was last written to its end, milliseconds after `start`.
    flushed: AtomicU64,
    /// When the first byte came after the last work, milliseconds after `start`; else [`NEVER`].
    first_read: AtomicU64,
    /// The present request's body was not read to its end.
    unread: AtomicBool,
    /// The end of the connection is the end of its last answer.
    ended_by_close: AtomicBool,
}

impl ConnectionActivity {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            busy: AtomicUsize::new(0),
            has_begun: AtomicBool::new(false),
            multiplexed: AtomicBool::new(false),
            awaited: AtomicUsize::new(0),
            awaited_since: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            last_write: AtomicU64::new(0),
            unfinished: AtomicUsize::new(0),
            buffered: AtomicBool::new(false),
            refused: OnceLock::new(),
            blocked: AtomicBool::new(false),
            flushed: AtomicU64::new(0),
            first_read: AtomicU64::new(NEVER),
            unread: AtomicBool::new(false),
            ended_by_close: AtomicBool::new(false),
        }
    }

    /// Marks the connection as busy until the returned guard is dropped.
    pub(super) fn begin_work(self: &Arc<Self>) -> BusyGuard {
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.has_begun.store(true, Ordering::Release);
        self.first_read.store(NEVER, Ordering::Release);
        BusyGuard(Arc::clone(self))
    }

    /// Records that its requests share the connection.
    pub(super) fn set_multiplexed(&self) {
        self.multiplexed.store(true, Ordering::Release);
    }

    /// Records that the client took bytes.
    pub(super) fn record_write(&self) {
        self.last_write.store(self.elapsed(), Ordering::Release);
    }

    /// Records whether the client has yet to take bytes before more can be written.
    pub(super) fn set_blocked(&self, blocked: bool) {
        if self.blocked.swap(blocked, Ordering::AcqRel) && !blocked {
            self.flushed.store(self.elapsed(), Ordering::Release);
        }
    }

    /// Records that a request's body is not complete.
    pub(super) fn begin_wait(&self) {
        if self.awaited.fetch_add(1, Ordering::AcqRel) == 0 {
            self.awaited_since.store(self.elapsed(), Ordering::Release);
        }
    }

    /// Records that the body is complete, or no longer waited for.
    pub(super) fn end_wait(&self) {
        self.awaited.fetch_sub(1, Ordering::AcqRel);
    }

    /// Records that an answer's body begins.
    pub(super) fn begin_answer(&self) {
        self.buffered.store(true, Ordering::Release);
        self.unfinished.fetch_add(1, Ordering::AcqRel);
    }

    /// Records that an answer's body was passed on completely, or dropped.
    pub(super) fn end_answer(&self) {
        self.flushed.store(self.elapsed(), Ordering::Release);
        self.unfinished.fetch_sub(1, Ordering::AcqRel);
    }

    /// Records that all bytes were written.
    pub(super) fn flush_answers(&self) {
        self.buffered.store(self.unfinished.load(Ordering::Acquire) > 0, Ordering::Release);
    }

    /// Returns whether bytes that are written now may be those of an answer to a request.
    pub(super) fn is_answering(&self) -> bool {
        self.buffered.load(Ordering::Acquire)
    }

    /// Records that the parser refused a request head, after which the client may still be sending.
    pub(super) fn refuse_head(&self, fault: ConnectionFault) {
        let _ = self.refused.set(fault);
        self.set_unread(true);
    }

    /// Returns why the parser refused a request head, if it did.
    pub(super) fn refused_head(&self) -> Option<ConnectionFault> {
        self.refused.get().copied()
    }

    /// Records that the client sent bytes.
    pub(super) fn record_read(&self) {
        if !self.is_busy() && self.first_read.load(Ordering::Acquire) == NEVER {
            self.first_read.store(self.elapsed(), Ordering::Release);
        }
    }

    /// Records whether the client may still be sending a body that is not read.
    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Ordering::Release);
    }

    pub(super) fn unread(&self) -> bool {
        self.unread.load(Ordering::Acquire)
    }

    /// Records that nothing but the end of the connection ends its last answer.
    pub(super) fn set_answer_ended_by_close(&self) {
        self.ended_by_close.store(true, Ordering::Release);
    }

    pub(super) fn is_answer_ended_by_close(&self) -> bool {
        self.ended_by_close.load(Ordering::Acquire)
    }

    /// Returns since when the connection has been without a request and without an answer that is being read; none
    /// while it is busy.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_idle = !self.is_busy() && !self.has_unread_answer();
        is_idle.then(|| self.last_answer_at())
    }

    /// Returns since when the connection has only waited for its client, to send request bodies or to read an answer;
    /// none while it is idle or does anything else. Single bytes do not restart the wait.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        match (self.busy.load(Ordering::Acquire), self.awaited.load(Ordering::Acquire)) {
            (0, _) => self.has_unread_answer().then(|| self.instant_of(&self.ended)),
            (busy, awaited) => (awaited >= busy).then(|| self.instant_of(&self.awaited_since)),
        }
    }

    /// Resolves once the connection has been without work for longer than allowed.
    pub(super) async fn overdue(&self, limits: IdleLimits) {
        let mut timer = std::pin::pin!(sleep_until(self.deadline(Instant::now(), limits)));
        // Recalculated whenever the connection has done something, since that can make the deadline earlier.
        poll_fn(|context| {
            loop {
                let now = Instant::now();
                let due = self.deadline(now, limits);
                if due <= now {
                    return Poll::Ready(());
                }
                if due < timer.deadline() || timer.is_elapsed() {
                    timer.as_mut().reset(due);
                }
                ready!(timer.as_mut().poll(context));
            }
        })
        .await;
    }

    fn deadline(&self, now: Instant, limits: IdleLimits) -> Instant {
        if self.is_busy() {
            return now + limits.head.max(Duration::from_millis(1));
        }
        let ended = self.instant_of(&self.ended);
        if self.has_unread_answer() {
            let progress = ended.max(self.instant_of(&self.last_write));
            return (progress + limits.head).min(ended + limits.head.max(FLUSH_LIMIT));
        }
        let begun = self.has_begun.load(Ordering::Acquire);
        let reads =
            self.first_read.load(Ordering::Acquire) != NEVER && !self.multiplexed.load(Ordering::Acquire);
        match (begun, reads) {
            (true, true) => self.instant_of(&self.first_read) + limits.head,
            (true, false) if !self.unread() => self.last_answer_at() + limits.keep_alive,
            _ => ended + limits.head,
        }
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) > 0
    }

    /// Returns whether an answer waits for its client.
    fn has_unread_answer(&self) -> bool {
        self.blocked.load(Ordering::Acquire) || self.unfinished.load(Ordering::Acquire) > 0
    }

    /// Returns when the last answer was written, else when the connection began.
    fn last_answer_at(&self) -> Instant {
        self.instant_of(&self.ended).max(self.instant_of(&self.flushed))
    }

    fn instant_of(&self, millis: &AtomicU64) -> Instant {
        self.start + Duration::from_millis(millis.load(Ordering::Acquire))
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Marks a connection as busy until dropped.
#[derive(Debug)]
pub(super) struct BusyGuard(Arc<ConnectionActivity>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.ended.store(self.0.elapsed(), Ordering::Release);
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    const LIMITS: IdleLimits =
        IdleLimits { head: Duration::from_secs(10), keep_alive: Duration::from_secs(75) };

    fn activity(begun: bool, ended: u64) -> ConnectionActivity {
        let activity = ConnectionActivity::new();
        activity.has_begun.store(begun, Ordering::Release);
        activity.ended.store(ended * 1000, Ordering::Release);
        activity
    }

    /// Returns the deadline, seconds after the start.
    fn deadline(activity: &ConnectionActivity) -> u64 {
        (activity.deadline(activity.start, LIMITS) - activity.start).as_secs()
    }

    #[test]
    fn first_head_has_the_header_timeout() {
        let silent = activity(false, 0);
        assert_eq!(deadline(&silent), 10);
        silent.first_read.store(9000, Ordering::Release);
        assert_eq!(deadline(&silent), 10, "from the start of the connection");
    }

    #[test]
    fn later_heads_are_timed_from_first_byte() {
        let kept = activity(true, 57);
        assert_eq!(deadline(&kept), 57 + 75);
        kept.first_read.store(60_000, Ordering::Release);
        assert_eq!(deadline(&kept), 60 + 10);
        kept.set_multiplexed();
        assert_eq!(deadline(&kept), 57 + 75, "a frame of HTTP/2 is not a head");
        let unread = activity(true, 57);
        unread.set_unread(true);
        assert_eq!(deadline(&unread), 57 + 10, "nothing but the end comes after an unread body");
    }

    #[test]
    fn slow_readers_have_time_while_they_read() {
        let slow = activity(true, 57);
        slow.set_blocked(true);
        assert_eq!(deadline(&slow), 67);
        for (wrote, wanted) in [(60, 70), (5000, 357)] {
            slow.last_write.store(wrote * 1000, Ordering::Release);
            assert_eq!(deadline(&slow), wanted, "progress alone does not keep it for ever");
        }
        assert_eq!(slow.idle_since(), None);
        slow.set_blocked(false);
        slow.flushed.store(90_000, Ordering::Release);
        assert_eq!(deadline(&slow), 90 + 75, "from the end of the answer");
        slow.begin_answer();
        assert_eq!((deadline(&slow), slow.idle_since()), (357, None));
    }

    #[test]
    fn a_connection_at_work_is_never_due() {
        let activity = Arc::new(ConnectionActivity::new());
        let (first, second) = (activity.begin_work(), activity.begin_work());
        let later = activity.start + Duration::from_secs(1000);
        drop(first);
        assert!(activity.deadline(later, LIMITS) > later);
        assert_eq!(activity.idle_since(), None);
        drop(second);
        assert!(activity.deadline(later, LIMITS) < later);
        assert!(activity.idle_since().is_some());
    }

    #[test]
    fn connection_waiting_for_its_client_is_stalled() {
        let activity = Arc::new(activity(false, 0));
        assert_eq!(activity.stalled_since(), None, "it is idle");
        let (first, second) = (activity.begin_work(), activity.begin_work());
        activity.begin_wait();
        assert_eq!(activity.stalled_since(), None, "the other request is at work");
        drop(second);
        activity.awaited_since.store(3000, Ordering::Release);
        assert_eq!(activity.stalled_since(), Some(activity.start + Duration::from_secs(3)));
        activity.end_wait();
        assert_eq!(activity.stalled_since(), None, "it has come");
        drop(first);
        activity.ended.store(5000, Ordering::Release);
        activity.begin_answer();
        activity.last_write.store(9000, Ordering::Release);
        assert_eq!(activity.stalled_since(), Some(activity.start + Duration::from_secs(5)));
    }

    #[tokio::test]
    async fn timer_follows_later_activity() {
        let day = Duration::from_secs(86_400);
        let limits = IdleLimits { head: Duration::from_millis(10), keep_alive: day };
        let activity = Arc::new(ConnectionActivity::new());
        drop(activity.begin_work());
        let mut overdue = std::pin::pin!(activity.overdue(limits));
        let waited = tokio::time::timeout(Duration::from_millis(50), overdue.as_mut()).await;
        waited.unwrap_err();
        activity.record_read();
        tokio::time::timeout(Duration::from_secs(10), overdue).await.unwrap();
    }
}
