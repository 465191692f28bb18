//! One call of a guest: the request, the response, and the end.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
};

use axum::http::{HeaderMap, HeaderName, Response};
use bulkhead_runtime::{
    capabilities::StoreData,
    invoke::{BadAnswer, CallError, EndedCall, Outcome, ShadowDiff},
};
use futures_util::future::BoxFuture;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;
use tracing::Instrument as _;
use wasmtime::Store;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;

use crate::{
    capability,
    compared::ComparedBody,
    instance::AppInstance,
    progress::{BodyEnd, CallProgress, GuestState, Head, TimeLimits},
    request::GuestRequest,
};

/// The first status that is a fault of the guest's own.
const SERVER_ERROR: u16 = 500;
/// How often a guest that computes is polled before its response is given, milliseconds of processor time.
const HELD_TICKS: u32 = 4;
/// Longest value of a field that operators see, bytes.
const LONGEST_VALUE: usize = 200;

/// The end of a call whose guest did not trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuestAnswer {
    /// It has given a response, and all of its body.
    Complete(SeenResponse),
    /// It has returned without a response.
    Nothing,
    /// It has returned without the end of its body.
    Unfinished,
}

/// What is known of a complete response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenResponse {
    status: u16,
    /// The header fields that are compared with another version's.
    fields: Vec<(String, String)>,
    /// The body, where it is compared with another version's.
    body: Option<ComparedBody>,
}

impl ShadowDiff for GuestAnswer {
    fn fields(&self) -> Vec<(String, String)> {
        let Self::Complete(SeenResponse { status, fields, body }) = self else {
            return vec![("response".to_owned(), "none".to_owned())];
        };
        let body = body.as_ref().map(ComparedBody::fields).unwrap_or_default();
        let status = ("status".to_owned(), status.to_string());
        [status].into_iter().chain(fields.iter().cloned()).chain(body).collect()
    }
}

/// The end of a call whose guest has reported a fault of its own: a response with a status of 500 or more, an error in place
/// of a response, or a body that it gave up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct GuestFault {
    /// The status of the response, if there is one.
    pub(crate) status: Option<u16>,
}

/// As operators see it beside another version's answer.
impl fmt::Debug for GuestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) if status >= SERVER_ERROR => write!(f, "a response with status {status}"),
            Some(status) => write!(f, "an incomplete response with status {status}"),
            None => f.write_str("an error in place of a response"),
        }
    }
}

/// The result of a call.
pub(crate) type CallEnd = Result<Result<(), GuestFault>, CallError>;

/// Accepts the end of a call.
///
/// # Errors
/// When the guest has given less than a response.
pub(crate) fn accept(answered: GuestAnswer) -> Result<(), BadAnswer> {
    match answered {
        GuestAnswer::Complete(_) => Ok(()),
        GuestAnswer::Nothing => Err(BadAnswer("the component returned without a response")),
        GuestAnswer::Unfinished => Err(BadAnswer("the component returned without the end of its response")),
    }
}

/// Gives a request to a guest, and its response to `respond`. Returns once the guest has returned and its response has been
/// passed on, or a limit is exceeded.
pub(crate) async fn run(
    instance: &AppInstance,
    store: &mut Store<StoreData>,
    request: GuestRequest,
    respond: impl FnOnce(Head) + Send,
    progress: Arc<CallProgress>,
    limits: TimeLimits,
) -> wasmtime::Result<Result<GuestAnswer, GuestFault>> {
    // Before the store is dropped, whose end would look like that of a complete body.
    let guard = FailGuard(Some(&*progress));
    store.set_hostcall_fuel(handed_over_bytes(store.data()));
    let scheme = if request.uri().scheme_str() == Some("https") { Scheme::Https } else { Scheme::Http };
    let ticks = store.data().cpu_ticks();
    let mut view = capability::view(store.data_mut());
    let request = view.new_incoming_request(scheme, request)?;
    let response = view.new_response_outparam_from_callback(keep(Arc::clone(&progress)))?;
    let handler = instance.0.wasi_http_incoming_handler();
    let guest = handler.call_handle(&mut *store, request, response);
    let called = tokio::select! {
        biased;
        called = responding(guest, respond, &progress, &ticks) => called,
        ended = progress.exceeded(&limits) => return Err(ended.into()),
    };
    if let Err(error) = called {
        let error = with_reason(error, store.data(), &progress);
        if progress.has_head() {
            // The store keeps what the guest has written until then. The error is the outcome however the body ends.
            let _ = progress.body_end(&limits).await;
        }
        return Err(error);
    }
    let answered = match progress.status() {
        _ if !progress.has_head() => Ok(GuestAnswer::Nothing),
        status => ended(progress.body_end(&limits).await?, status, &progress),
    };
    guard.complete();
    Ok(answered)
}

/// Returns how many bytes a guest may hand over to the host at once: what it has in its memory. Its response is counted as it
/// passes, and a value that is too large for a store gets the error of that store.
fn handed_over_bytes(guest: &StoreData) -> usize {
    let limits = &guest.capabilities.settings.limits;
    limits.memory_bytes.max(limits.response_bytes)
}

/// Names the limit that a guest has exceeded if it has handed over the same memory many times at once, and the client if
/// its request has broken off: a guest that fails on that is not at fault.
fn with_reason(error: wasmtime::Error, guest: &StoreData, progress: &CallProgress) -> wasmtime::Error {
    let (outcome, reason, key) = match Outcome::of(&error, guest) {
        Outcome::ResponseTooLarge => {
            let reason = format!("it handed over more than {} bytes at once", handed_over_bytes(guest));
            (Outcome::MemoryLimit, reason, Some("memory_bytes"))
        }
        Outcome::Trap if progress.is_request_broken() => {
            (Outcome::Cancelled, "it failed on a request that has broken off".to_owned(), None)
        }
        _ => return error,
    };
    EndedCall { outcome, reason, key }.into()
}

/// Returns how a call has ended whose response has this status and this end.
fn ended(end: BodyEnd, status: Option<u16>, progress: &CallProgress) -> Result<GuestAnswer, GuestFault> {
    match (end, status) {
        (BodyEnd::Complete, Some(status)) if status < SERVER_ERROR => {
            let (fields, body) = (progress.fields(), progress.compared_body());
            Ok(GuestAnswer::Complete(SeenResponse { status, fields, body }))
        }
        (BodyEnd::Complete | BodyEnd::Aborted, status) => Err(GuestFault { status }),
        (BodyEnd::Unfinished, _) => Ok(GuestAnswer::Unfinished),
    }
}

/// Returns the values of these fields of a response, and the digest where they are long.
fn compared(headers: &HeaderMap, names: &[HeaderName]) -> Vec<(String, String)> {
    let value = |name: &HeaderName| {
        let values = headers.get_all(name).into_iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let text = values.collect::<Vec<_>>().join(", ");
        if text.len() <= LONGEST_VALUE {
            text
        } else {
            format!("sha256:{}", hex::encode(Sha256::digest(text)))
        }
    };
    names.iter().map(|name| (format!("header {name}"), value(name))).collect()
}

/// Returns what a guest's response is given to.
fn keep(progress: Arc<CallProgress>) -> impl FnOnce(Head) + Send + Sync + 'static {
    move |head| {
        let headers = head.as_ref().ok().map(Response::headers);
        let fields = headers.map(|headers| compared(headers, progress.compared())).unwrap_or_default();
        progress.keep_head(head, fields);
    }
}

/// Runs a guest. Its response is given to `respond` when it next waits, has computed for [`HELD_TICKS`] or has ended, and not
/// before, so that what it writes without waiting is there with the head. `ticks` counts how often it has yielded the
/// processor.
async fn responding(
    guest: impl Future<Output = wasmtime::Result<()>>,
    respond: impl FnOnce(Head),
    progress: &CallProgress,
    ticks: &AtomicU64,
) -> wasmtime::Result<()> {
    let mut guest = pin!(guest);
    let (mut respond, mut held) = (Some(respond), 0);
    poll_fn(|cx| {
        let before = ticks.load(Ordering::Relaxed);
        let polled = guest.as_mut().poll(cx);
        match &polled {
            Poll::Ready(Ok(())) => progress.set_guest(GuestState::Returned),
            Poll::Ready(Err(_)) => progress.set_guest(GuestState::Trapped),
            // It goes on at once.
            Poll::Pending if held < HELD_TICKS && ticks.load(Ordering::Relaxed) != before => {
                held += u32::from(progress.has_head());
                return Poll::Pending;
            }
            Poll::Pending => {}
        }
        if let Some(head) = progress.take_head()
            && let Some(respond) = respond.take()
        {
            respond(head);
        }
        polled
    })
    .await
}

/// Records that the guest has failed, unless the call is completed.
struct FailGuard<'p>(Option<&'p CallProgress>);

impl FailGuard<'_> {
    fn complete(mut self) {
        self.0 = None;
    }
}

impl Drop for FailGuard<'_> {
    fn drop(&mut self) {
        if let Some(progress) = self.0 {
            progress.set_guest(GuestState::Failed);
        }
    }
}

/// A call whose guest has given a response or an error. It runs where its response is awaited, so that a short one needs no
/// task of its own.
pub(crate) enum BegunCall {
    /// It has ended.
    Ended(CallEnd),
    /// It goes on while it is polled.
    Running(BoxFuture<'static, CallEnd>),
}

impl BegunCall {
    /// Waits for the end of the call.
    pub(crate) async fn end(self) -> CallEnd {
        match self {
            Self::Ended(ended) => ended,
            Self::Running(call) => call.await,
        }
    }

    /// Has the call go on, if it has not ended.
    pub(crate) fn spawn(self) -> Option<CallTask> {
        match self {
            Self::Ended(_) => None,
            Self::Running(call) => Some(CallTask::spawn(call)),
        }
    }
}

/// A call that runs on a task of its own, and is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct CallTask(Option<JoinHandle<CallEnd>>);

impl CallTask {
    /// Runs a call, whose log lines belong to the current request.
    fn spawn(call: BoxFuture<'static, CallEnd>) -> Self {
        Self(Some(tokio::spawn(call.in_current_span())))
    }

    /// Leaves the call to itself.
    pub(crate) fn detach(mut self) {
        self.0 = None;
    }
}

impl Drop for CallTask {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::Cell;

    use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

    use super::*;

    /// Returns how often a guest has stopped when what it gives first is passed on. It stops so many times, and has been
    /// running for a tick each time if it computes.
    async fn stops_before_head(computes: bool, stops: u32) -> Option<u32> {
        let (progress, ticks) = (CallProgress::new(), AtomicU64::new(0));
        let (stopped, given) = (Cell::new(0), Cell::new(None));
        progress.keep_head(Err(ErrorCode::InternalError(None)), Vec::new());
        let guest = poll_fn(|cx| {
            if stopped.get() == stops {
                return Poll::Ready(Ok(()));
            }
            stopped.set(stopped.get() + 1);
            ticks.fetch_add(u64::from(computes), Ordering::Relaxed);
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        responding(guest, |_| given.set(Some(stopped.get())), &progress, &ticks).await.unwrap();
        given.get()
    }

    #[tokio::test]
    async fn head_waits_while_guest_computes() {
        for (computes, stops, before_head) in [
            (true, 0, 0),
            (true, HELD_TICKS, HELD_TICKS),
            (true, HELD_TICKS + 2, HELD_TICKS + 1),
            (false, 2, 1),
        ] {
            assert_eq!(stops_before_head(computes, stops).await, Some(before_head), "{computes} {stops}");
        }
    }

    #[test]
    fn fault_is_shown_in_words() {
        for (status, text) in [
            (Some(503), "a response with status 503"),
            (Some(200), "an incomplete response with status 200"),
            (None, "an error in place of a response"),
        ] {
            assert_eq!(format!("{:?}", GuestFault { status }), text);
        }
    }
}
