//! What the parts of a call know of each other: the guest, the body of the request, that of the response, and the limits.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
    time::Duration,
};

use axum::http::{HeaderName, Response};
use bulkhead_runtime::invoke::{EndedCall, Outcome};
use tokio::{
    sync::{Notify, futures::Notified},
    time::{Instant, sleep_until},
};
use wasmtime_wasi_http::p2::{bindings::http::types::ErrorCode, body::HyperOutgoingBody};

use crate::compared::ComparedBody;

/// What a guest gives in answer to a request: a response, whose body it may still write, or an error.
pub(crate) type Head = Result<Response<HyperOutgoingBody>, ErrorCode>;

/// The limits of a call in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimits {
    /// Until the response begins.
    pub(crate) head: Duration,
    /// Between two pieces of the bodies, once the response has begun.
    pub(crate) idle: Duration,
    /// The whole call, with the work after its response.
    pub(crate) whole: Duration,
}

/// The state of the guest's function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GuestState {
    /// It runs.
    #[default]
    Running,
    /// It has returned.
    Returned,
    /// It was ended before it returned. What it has written is still there.
    Trapped,
    /// The call has failed, and its store may be gone with what the guest has written.
    Failed,
}

/// How the body of the response has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// The guest has finished it, and the client has been given all of it.
    Complete,
    /// The guest has given it up.
    Aborted,
    /// The guest has returned before it had finished the body.
    Unfinished,
}

/// The progress of one call.
#[derive(Debug)]
pub(crate) struct CallProgress {
    begun: Instant,
    /// Fields of the response that are compared with another version's.
    compared: Vec<HeaderName>,
    state: Mutex<ProgressState>,
    /// Notified when a state changes that the call waits for.
    changed: Notify,
}

#[derive(Debug, Default)]
struct ProgressState {
    guest: GuestState,
    /// What the guest has given, until it is taken.
    head: Option<Head>,
    /// When a piece of a body last came through, from the head of the response on.
    moved: Option<Instant>,
    /// Whether the body of the response waits for the guest, not the guest for the client.
    waits_for_guest: bool,
    body: Option<BodyEnd>,
    /// The status of the response; `None` until there is one, and for an error in its place.
    status: Option<u16>,
    /// The compared fields of the response, each with its name.
    fields: Vec<(String, String)>,
    /// The complete body, where it is compared with another version's.
    compared_body: Option<ComparedBody>,
    /// Whether the body of the request has ended before its end.
    is_request_broken: bool,
    /// Whether the body of the request has more bytes than it may have.
    is_request_too_large: bool,
    /// Why the host ends the call.
    refused: Option<EndedCall>,
    /// Wakes what passes the body on.
    waker: Option<Waker>,
}

impl CallProgress {
    pub(crate) fn new() -> Self {
        Self::comparing(Vec::new())
    }

    /// Returns the progress of a call of whose response these fields are compared with another version's.
    pub(crate) fn comparing(compared: Vec<HeaderName>) -> Self {
        Self { begun: Instant::now(), compared, state: Mutex::default(), changed: Notify::new() }
    }

    /// Returns which fields of the response are compared.
    pub(crate) fn compared(&self) -> &[HeaderName] {
        &self.compared
    }

    /// Returns the compared fields of the response.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        self.lock().fields.clone()
    }

    /// Keeps what the guest has given, with the compared fields of a response.
    pub(crate) fn keep_head(&self, head: Head, fields: Vec<(String, String)>) {
        let mut state = self.lock();
        match &head {
            Ok(response) => state.status = Some(response.status().as_u16()),
            Err(_) => state.body = Some(BodyEnd::Aborted),
        }
        (state.moved, state.fields, state.head) = (Some(Instant::now()), fields, Some(head));
        self.release(state);
    }

    /// Takes what the guest has given.
    pub(crate) fn take_head(&self) -> Option<Head> {
        self.lock().head.take()
    }

    /// Returns whether the guest has given a response or an error.
    pub(crate) fn has_head(&self) -> bool {
        self.lock().moved.is_some()
    }

    /// Returns the status of the response, if there is one.
    pub(crate) fn status(&self) -> Option<u16> {
        self.lock().status
    }

    /// Records the body, which is compared.
    pub(crate) fn set_compared_body(&self, body: ComparedBody) {
        self.lock().compared_body = Some(body);
    }

    /// Returns the body, if it is compared.
    pub(crate) fn compared_body(&self) -> Option<ComparedBody> {
        self.lock().compared_body.clone()
    }

    /// Records that a piece of a body came through.
    pub(crate) fn set_moved(&self) {
        let mut state = self.lock();
        if state.moved.is_some() {
            state.moved = Some(Instant::now());
        }
    }

    /// Records that the body of the request has ended before its end.
    pub(crate) fn set_request_broken(&self) {
        self.lock().is_request_broken = true;
    }

    /// Returns whether the body of the request has ended before its end.
    pub(crate) fn is_request_broken(&self) -> bool {
        self.lock().is_request_broken
    }

    /// Records that the body of the request has more bytes than it may have.
    pub(crate) fn set_request_too_large(&self) {
        self.lock().is_request_too_large = true;
    }

    /// Returns whether the body of the request has more bytes than it may have.
    pub(crate) fn is_request_too_large(&self) -> bool {
        self.lock().is_request_too_large
    }

    /// Records whether the body of the response waits for the guest; `waker` is woken when the guest ends. Returns the state
    /// of the guest.
    pub(crate) fn set_waiting(&self, waker: Option<&Waker>) -> GuestState {
        let mut state = self.lock();
        state.waits_for_guest = waker.is_some();
        state.waker = waker.cloned();
        state.guest
    }

    /// Records how the body of the response has ended.
    pub(crate) fn set_body_end(&self, end: BodyEnd) {
        let mut state = self.lock();
        state.body.get_or_insert(end);
        self.release(state);
    }

    /// Has the call end as it says.
    pub(crate) fn refuse(&self, ended: EndedCall) {
        let mut state = self.lock();
        state.refused.get_or_insert(ended);
        self.release(state);
    }

    /// Records that the guest's function has returned or was ended, or that the call has failed.
    pub(crate) fn set_guest(&self, guest: GuestState) {
        let mut state = self.lock();
        state.guest = guest;
        let waker = state.waker.take();
        self.release(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns whether the call has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.lock().guest == GuestState::Failed
    }

    /// Waits until a limit is exceeded, or the call is refused.
    pub(crate) async fn exceeded(&self, limits: &TimeLimits) -> EndedCall {
        loop {
            // Before the state is read, so that no change is missed.
            let changed = self.changed.notified();
            match self.due(limits) {
                Ok(due) => until(changed, due).await,
                Err(ended) => return ended,
            }
        }
    }

    /// Waits until the body of the response has ended.
    ///
    /// # Errors
    /// When a limit is exceeded before, or the call is refused.
    pub(crate) async fn body_end(&self, limits: &TimeLimits) -> Result<BodyEnd, EndedCall> {
        loop {
            let changed = self.changed.notified();
            match self.ended_body() {
                Some(end) => return Ok(end),
                None => until(changed, self.due(limits)?).await,
            }
        }
    }

    /// Returns how the body has ended, unless the call is refused.
    fn ended_body(&self) -> Option<BodyEnd> {
        let state = self.lock();
        state.body.filter(|_| state.refused.is_none())
    }

    /// Returns when the next limit is exceeded.
    fn due(&self, limits: &TimeLimits) -> Result<Instant, EndedCall> {
        let state = self.lock();
        if let Some(ended) = &state.refused {
            return Err(ended.clone());
        }
        let (due, limit) = state.due(self.begun, limits);
        if due <= Instant::now() { Err(limit.ended(limits)) } else { Ok(due) }
    }

    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, state: MutexGuard<'_, ProgressState>) {
        drop(state);
        self.changed.notify_waiters();
    }
}

/// Waits for a change of the state, at most until `due`.
async fn until(changed: Notified<'_>, due: Instant) {
    tokio::select! {
        () = changed => {}
        () = sleep_until(due) => {}
    }
}

impl ProgressState {
    /// Returns when the next limit is exceeded, and which one that is.
    fn due(&self, begun: Instant, limits: &TimeLimits) -> (Instant, DueLimit) {
        let whole = begun + limits.whole;
        let Some(moved) = self.moved else {
            return ((begun + limits.head).min(whole), DueLimit::Head);
        };
        let idle = moved + limits.idle;
        if self.body.is_some() || whole <= idle {
            return (whole, DueLimit::Whole);
        }
        (idle, if self.waits_for_guest { DueLimit::Guest } else { DueLimit::Client })
    }
}

/// A limit that is exceeded next.
#[derive(Clone, Copy)]
enum DueLimit {
    /// Until the response begins.
    Head,
    /// A pause in which the response waits for the guest.
    Guest,
    /// A pause in which it waits for the client.
    Client,
    /// The whole call.
    Whole,
}

impl DueLimit {
    /// Returns how a call ends that exceeds the limit.
    fn ended(self, limits: &TimeLimits) -> EndedCall {
        let (outcome, reason, key) = match self {
            Self::Head => {
                let millis = limits.head.as_millis();
                let reason = format!("it took longer than {millis} ms to begin a response");
                (Outcome::Deadline, reason, "deadline_ms")
            }
            Self::Guest => {
                let reason = format!("its response stopped for {} ms", limits.idle.as_millis());
                (Outcome::Deadline, reason, "stream_idle_ms")
            }
            Self::Client => {
                let reason = format!("the client has read nothing for {} ms", limits.idle.as_millis());
                (Outcome::Cancelled, reason, "stream_idle_ms")
            }
            Self::Whole => {
                let reason = format!("it took longer than {} ms with its streams", limits.whole.as_millis());
                (Outcome::Deadline, reason, "stream_ms")
            }
        };
        EndedCall { outcome, reason, key: Some(key) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const LIMITS: TimeLimits = TimeLimits { head: HOUR, idle: HOUR, whole: HOUR };
    const SOON: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn each_limit_names_its_key() {
        let begun = CallProgress::new();
        let ended = begun.exceeded(&TimeLimits { head: SOON, ..LIMITS }).await;
        assert_eq!((ended.outcome, ended.key), (Outcome::Deadline, Some("deadline_ms")));
        begun.keep_head(Ok(Response::default()), Vec::new());
        let ended = begun.exceeded(&TimeLimits { idle: SOON, ..LIMITS }).await;
        assert_eq!(ended.outcome, Outcome::Cancelled, "the client does not read");
        assert_eq!(begun.set_waiting(Some(Waker::noop())), GuestState::Running);
        let ended = begun.exceeded(&TimeLimits { idle: SOON, ..LIMITS }).await;
        assert_eq!((ended.outcome, ended.key), (Outcome::Deadline, Some("stream_idle_ms")));
        begun.set_body_end(BodyEnd::Complete);
        let ended = begun.exceeded(&TimeLimits { idle: SOON, whole: SOON, ..LIMITS }).await;
        assert_eq!((ended.outcome, ended.key), (Outcome::Deadline, Some("stream_ms")));
    }

    #[tokio::test]
    async fn end_of_body_is_awaited() {
        let progress = CallProgress::new();
        let failed = Response::builder().status(500).body(HyperOutgoingBody::default()).unwrap();
        progress.keep_head(Ok(failed), Vec::new());
        let wait = progress.body_end(&LIMITS);
        let end = async {
            tokio::task::yield_now().await;
            progress.set_moved();
            progress.set_body_end(BodyEnd::Aborted);
            progress.set_body_end(BodyEnd::Complete);
        };
        let (end, ()) = tokio::join!(wait, end);
        assert_eq!(end.unwrap(), BodyEnd::Aborted, "the first end counts");
        assert_eq!(progress.status(), Some(500));
    }

    #[tokio::test]
    async fn refused_call_ends_at_once() {
        let progress = CallProgress::new();
        let ended = EndedCall { outcome: Outcome::BadAnswer, reason: "a reason".into(), key: None };
        progress.refuse(ended);
        assert_eq!(progress.exceeded(&LIMITS).await.outcome, Outcome::BadAnswer);
        assert_eq!(progress.body_end(&LIMITS).await.unwrap_err().reason, "a reason");
    }
}
