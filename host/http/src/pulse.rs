//! Whether a connection is at work: the clock behind the header, idle and slow-reader timers.
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

use super::accept::Fault;

/// An answer that the client takes in slowly but steadily has at least this long. Bounded because
/// HTTP/2 pings also make us write.
const FLUSH_LIMIT: Duration = Duration::from_secs(300);
/// Stands for a time that has not come.
const NEVER: u64 = u64::MAX;

/// How long a connection may be without work.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleLimits {
    /// Until its first request head is whole, from the first byte of a later one, and while an answer is not taken.
    pub(super) head: Duration,
    /// Between an answer and the first byte of the next request.
    pub(super) keep_alive: Duration,
}

impl IdleLimits {
    /// The same with `more` time.
    pub(super) fn later(self, more: Duration) -> Self {
        Self { head: self.head + more, keep_alive: self.keep_alive + more }
    }
}

/// The state of one connection, shared by its stream, its requests, its timer and the limit of connections.
#[derive(Debug)]
pub(super) struct Pulse {
    start: Instant,
    /// Handlers that run, and answers that wait for their source.
    busy: AtomicUsize,
    begun: AtomicBool,
    /// Its requests come by HTTP/2, whose frames also arrive without a request.
    multiplexed: AtomicBool,
    /// Requests whose bodies the client has yet to send on.
    awaited: AtomicUsize,
    /// When the first of them began to be waited for, milliseconds after `start`.
    awaits: AtomicU64,
    /// When the last handler or answer ended, milliseconds after `start`.
    ended: AtomicU64,
    /// When the client last took bytes, milliseconds after `start`.
    wrote: AtomicU64,
    /// Answers of which the client has not taken enough yet for their last byte to be written.
    unfinished: AtomicUsize,
    /// Bytes of an answer may wait to be written, although its body has been handed over.
    buffered: AtomicBool,
    /// The parser refused a request head.
    refused: OnceLock<Fault>,
    /// The client has yet to take bytes before more can be written.
    blocked: AtomicBool,
    /// When an answer was last written to its end, milliseconds after `start`.
    flushed: AtomicU64,
    /// When the first byte came after the last work, milliseconds after `start`; else [`NEVER`].
    read: AtomicU64,
    /// The present request's body was not read to its end.
    unread: AtomicBool,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            busy: AtomicUsize::new(0),
            begun: AtomicBool::new(false),
            multiplexed: AtomicBool::new(false),
            awaited: AtomicUsize::new(0),
            awaits: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            wrote: AtomicU64::new(0),
            unfinished: AtomicUsize::new(0),
            buffered: AtomicBool::new(false),
            refused: OnceLock::new(),
            blocked: AtomicBool::new(false),
            flushed: AtomicU64::new(0),
            read: AtomicU64::new(NEVER),
            unread: AtomicBool::new(false),
        }
    }

    /// The connection is at work until the answer is dropped.
    pub(super) fn turn(self: &Arc<Self>) -> Turn {
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.begun.store(true, Ordering::Release);
        self.read.store(NEVER, Ordering::Release);
        Turn(Arc::clone(self))
    }

    /// Its requests share the connection.
    pub(super) fn multiplexes(&self) {
        self.multiplexed.store(true, Ordering::Release);
    }

    /// The client took bytes.
    pub(super) fn wrote(&self) {
        self.wrote.store(self.elapsed(), Ordering::Release);
    }

    /// Notes whether the client has yet to take bytes before more can be written.
    pub(super) fn set_blocked(&self, blocked: bool) {
        if self.blocked.swap(blocked, Ordering::AcqRel) && !blocked {
            self.flushed.store(self.elapsed(), Ordering::Release);
        }
    }

    /// A request's body has not come whole.
    pub(super) fn begin_wait(&self) {
        if self.awaited.fetch_add(1, Ordering::AcqRel) == 0 {
            self.awaits.store(self.elapsed(), Ordering::Release);
        }
    }

    /// It has, or nobody waits for it any more.
    pub(super) fn end_wait(&self) {
        self.awaited.fetch_sub(1, Ordering::AcqRel);
    }

    /// An answer's body begins.
    pub(super) fn begin_answer(&self) {
        self.buffered.store(true, Ordering::Release);
        self.unfinished.fetch_add(1, Ordering::AcqRel);
    }

    /// An answer's body has been handed over, or given up.
    pub(super) fn end_answer(&self) {
        self.flushed.store(self.elapsed(), Ordering::Release);
        self.unfinished.fetch_sub(1, Ordering::AcqRel);
    }

    /// All bytes have been written that there were.
    pub(super) fn flush_answers(&self) {
        self.buffered.store(self.unfinished.load(Ordering::Acquire) > 0, Ordering::Release);
    }

    /// Whether bytes that are written now may be those of an answer to a request.
    pub(super) fn is_answering(&self) -> bool {
        self.buffered.load(Ordering::Acquire)
    }

    /// The parser refused a request head, and the client may still be sending what comes after it.
    pub(super) fn refuse_head(&self, fault: Fault) {
        let _ = self.refused.set(fault);
        self.set_unread(true);
    }

    /// Why the parser refused a request head, if it did.
    pub(super) fn refused_head(&self) -> Option<Fault> {
        self.refused.get().copied()
    }

    /// The client sent bytes.
    pub(super) fn read(&self) {
        if !self.is_busy() && self.read.load(Ordering::Acquire) == NEVER {
            self.read.store(self.elapsed(), Ordering::Release);
        }
    }

    /// Notes whether the client may still be sending a body that nobody reads.
    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Ordering::Release);
    }

    pub(super) fn unread(&self) -> bool {
        self.unread.load(Ordering::Acquire)
    }

    /// Since when the connection has been without a request and without an answer that is being taken in; none while
    /// it is at work.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_idle = !self.is_busy() && !self.is_read_slowly();
        is_idle.then(|| self.rests_since())
    }

    /// Since when the connection has only waited for its client, to send the bodies of its requests or to take an answer;
    /// none while it is idle or does anything else. Single bytes make no difference.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        match (self.busy.load(Ordering::Acquire), self.awaited.load(Ordering::Acquire)) {
            (0, _) => self.is_read_slowly().then(|| self.after(&self.ended)),
            (busy, awaited) => (awaited >= busy).then(|| self.after(&self.awaits)),
        }
    }

    /// Resolves once the connection has been without work for longer than it may.
    pub(super) async fn overdue(&self, limits: IdleLimits) {
        let mut timer = std::pin::pin!(sleep_until(self.due(Instant::now(), limits)));
        // Asked again whenever the connection has done something, since that can bring the end nearer.
        poll_fn(|context| {
            loop {
                let now = Instant::now();
                let due = self.due(now, limits);
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

    fn due(&self, now: Instant, limits: IdleLimits) -> Instant {
        if self.is_busy() {
            return now + limits.head.max(Duration::from_millis(1));
        }
        let ended = self.after(&self.ended);
        if self.is_read_slowly() {
            let progress = ended.max(self.after(&self.wrote));
            return (progress + limits.head).min(ended + limits.head.max(FLUSH_LIMIT));
        }
        let begun = self.begun.load(Ordering::Acquire);
        let reads = self.read.load(Ordering::Acquire) != NEVER && !self.multiplexed.load(Ordering::Acquire);
        match (begun, reads) {
            (true, true) => self.after(&self.read) + limits.head,
            (true, false) if !self.unread() => self.rests_since() + limits.keep_alive,
            _ => ended + limits.head,
        }
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) > 0
    }

    /// Whether an answer waits for its client.
    fn is_read_slowly(&self) -> bool {
        self.blocked.load(Ordering::Acquire) || self.unfinished.load(Ordering::Acquire) > 0
    }

    /// When the last answer was written, else when the connection began.
    fn rests_since(&self) -> Instant {
        self.after(&self.ended).max(self.after(&self.flushed))
    }

    fn after(&self, millis: &AtomicU64) -> Instant {
        self.start + Duration::from_millis(millis.load(Ordering::Acquire))
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

    const LIMITS: IdleLimits =
        IdleLimits { head: Duration::from_secs(10), keep_alive: Duration::from_secs(75) };

    fn pulse(begun: bool, ended: u64) -> Pulse {
        let pulse = Pulse::new();
        pulse.begun.store(begun, Ordering::Release);
        pulse.ended.store(ended * 1000, Ordering::Release);
        pulse
    }

    /// When it is due, seconds after its start.
    fn due(pulse: &Pulse) -> u64 {
        (pulse.due(pulse.start, LIMITS) - pulse.start).as_secs()
    }

    #[test]
    fn first_head_has_the_header_timeout() {
        let silent = pulse(false, 0);
        assert_eq!(due(&silent), 10);
        silent.read.store(9000, Ordering::Release);
        assert_eq!(due(&silent), 10, "from the start of the connection");
    }

    #[test]
    fn later_heads_have_it_from_their_first_byte() {
        let kept = pulse(true, 57);
        assert_eq!(due(&kept), 57 + 75);
        kept.read.store(60_000, Ordering::Release);
        assert_eq!(due(&kept), 60 + 10);
        kept.multiplexes();
        assert_eq!(due(&kept), 57 + 75, "a frame of HTTP/2 is no head");
        let unread = pulse(true, 57);
        unread.set_unread(true);
        assert_eq!(due(&unread), 57 + 10, "nothing but the end comes after an unread body");
    }

    #[test]
    fn slow_readers_have_time_while_they_read() {
        let slow = pulse(true, 57);
        slow.set_blocked(true);
        assert_eq!(due(&slow), 67);
        for (wrote, wanted) in [(60, 70), (5000, 357)] {
            slow.wrote.store(wrote * 1000, Ordering::Release);
            assert_eq!(due(&slow), wanted, "progress alone does not keep it for ever");
        }
        assert_eq!(slow.idle_since(), None);
        slow.set_blocked(false);
        slow.flushed.store(90_000, Ordering::Release);
        assert_eq!(due(&slow), 90 + 75, "from the end of the answer");
        slow.begin_answer();
        assert_eq!((due(&slow), slow.idle_since()), (357, None));
    }

    #[test]
    fn a_connection_at_work_is_never_due() {
        let pulse = Arc::new(Pulse::new());
        let (first, second) = (pulse.turn(), pulse.turn());
        let later = pulse.start + Duration::from_secs(1000);
        drop(first);
        assert!(pulse.due(later, LIMITS) > later);
        assert_eq!(pulse.idle_since(), None);
        drop(second);
        assert!(pulse.due(later, LIMITS) < later);
        assert!(pulse.idle_since().is_some());
    }

    #[test]
    fn connection_stalls_while_it_only_waits_for_its_client() {
        let pulse = Arc::new(pulse(false, 0));
        assert_eq!(pulse.stalled_since(), None, "it is idle");
        let (first, second) = (pulse.turn(), pulse.turn());
        pulse.begin_wait();
        assert_eq!(pulse.stalled_since(), None, "the other request is at work");
        drop(second);
        pulse.awaits.store(3000, Ordering::Release);
        assert_eq!(pulse.stalled_since(), Some(pulse.start + Duration::from_secs(3)));
        pulse.end_wait();
        assert_eq!(pulse.stalled_since(), None, "it has come");
        drop(first);
        pulse.ended.store(5000, Ordering::Release);
        pulse.begin_answer();
        pulse.wrote.store(9000, Ordering::Release);
        assert_eq!(pulse.stalled_since(), Some(pulse.start + Duration::from_secs(5)));
    }

    #[tokio::test]
    async fn a_timer_follows_what_happens_meanwhile() {
        let day = Duration::from_secs(86_400);
        let limits = IdleLimits { head: Duration::from_millis(10), keep_alive: day };
        let pulse = Arc::new(Pulse::new());
        drop(pulse.turn());
        let mut overdue = std::pin::pin!(pulse.overdue(limits));
        let waited = tokio::time::timeout(Duration::from_millis(50), overdue.as_mut()).await;
        waited.unwrap_err();
        pulse.read();
        tokio::time::timeout(Duration::from_secs(10), overdue).await.unwrap();
    }
}
