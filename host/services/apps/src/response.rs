//! The body of a guest's response, as the client gets it.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use axum::{
    body::Bytes,
    http::{
        HeaderMap,
        header::{
            AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
            HOST, MAX_FORWARDS, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING,
        },
    },
};
use bulkhead_runtime::invoke::{EndedCall, Outcome};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::task::coop::unconstrained;
use wasmtime_wasi_http::{Error, p2::body::HyperOutgoingBody};

use crate::{
    call::CallTask,
    compared::BodyRecord,
    progress::{BodyEnd, CallProgress, GuestState},
};

/// Bytes from which on a body is no longer read before the client gets the head: a call whose response is longer lasts until
/// the client has taken it.
const READ_AHEAD: usize = 16 << 10;

/// The error of a body that is not complete. The connection, or the stream in HTTP/2, is reset.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the component did not complete its response")]
pub(crate) struct IncompleteBody;

/// Returns the length that a response declares.
pub(crate) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Removes fields that concern one connection only. A guest cannot set the others of RFC 9110, section 7.6.1.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    headers.remove(TE);
}

/// Returns a frame without the trailers that may not be any (RFC 9110, section 6.5.1): those that hyper leaves out in HTTP/1.1.
fn with_sound_trailers(frame: Frame<Bytes>) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(mut trailers) => {
            for name in [
                AUTHORIZATION,
                CACHE_CONTROL,
                CONTENT_ENCODING,
                CONTENT_LENGTH,
                CONTENT_RANGE,
                CONTENT_TYPE,
                HOST,
                MAX_FORWARDS,
                SET_COOKIE,
                TE,
                TRAILER,
                TRANSFER_ENCODING,
            ] {
                trailers.remove(name);
            }
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    }
}

/// Returns how a call ends whose response is larger than `limit` bytes.
pub(crate) fn too_large(limit: usize) -> EndedCall {
    let reason = format!("its response has more than {limit} bytes");
    EndedCall { outcome: Outcome::ResponseTooLarge, reason, key: Some("response_bytes") }
}

/// The body of a guest's response. It is complete only if the guest has finished it; everything else is an error. A client
/// that goes away drops it, which ends the call.
pub(crate) struct GuestBody {
    inner: HyperOutgoingBody,
    progress: Arc<CallProgress>,
    limit: usize,
    sent: u64,
    declared: Option<u64>,
    /// What has been sent, where it is compared with another version's.
    record: Option<BodyRecord>,
    /// What has been read before the client gets the head.
    ahead: VecDeque<Result<Frame<Bytes>, IncompleteBody>>,
    /// Whether the end has been read.
    has_ended: bool,
    /// Ends the call when dropped; `None` once the body has ended, and before the client gets the head.
    call: Option<CallTask>,
}

impl GuestBody {
    /// Returns the body of a response that has at most `limit` bytes, and has `declared` ones if it says so.
    pub(crate) fn new(
        inner: HyperOutgoingBody,
        progress: Arc<CallProgress>,
        limit: usize,
        declared: Option<u64>,
    ) -> Self {
        Self {
            inner,
            progress,
            limit,
            sent: 0,
            declared,
            record: None,
            ahead: VecDeque::new(),
            has_ended: false,
            call: None,
        }
    }

    /// Has the call end when the body is dropped before its end.
    pub(crate) fn attach(&mut self, call: CallTask) {
        if self.has_ended {
            call.detach();
        } else {
            self.call = Some(call);
        }
    }

    /// Returns whether the end of the body has been read.
    pub(crate) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Reads what the guest has written, without waiting. A short body that ends is then sent with its head and its length.
    pub(crate) fn read_ahead(&mut self) {
        let (mut bytes, mut cx) = (0_usize, Context::from_waker(Waker::noop()));
        while bytes < READ_AHEAD
            && let Poll::Ready(Some(frame)) = self.poll_read(&mut cx)
        {
            let data = frame.as_ref().ok().and_then(Frame::data_ref);
            bytes = bytes.saturating_add(data.map_or(0, Bytes::len));
            self.ahead.push_back(frame);
        }
        // What it waits for from here on is the client.
        self.progress.set_waiting(None);
    }

    /// Has the body recorded, if it is compared with another version's.
    pub(crate) fn recorded(mut self, record: Option<BodyRecord>) -> Self {
        self.record = record;
        self
    }

    /// Waits for the first piece with bytes or trailers, which is kept. Returns whether there is one; if not, the body has
    /// ended.
    pub(crate) async fn has_begun(&mut self) -> bool {
        while let Some(Ok(frame)) = self.frame().await {
            if frame.data_ref().is_none_or(|data| !data.is_empty()) {
                self.ahead.push_front(Ok(frame));
                return true;
            }
        }
        false
    }

    /// Records the end of the body. The call ends with it, or goes on alone.
    fn end(&mut self, end: BodyEnd) {
        self.has_ended = true;
        if let Some(record) = self.record.take() {
            self.progress.set_compared_body(record.finish());
        }
        self.progress.set_body_end(end);
        if let Some(call) = self.call.take() {
            call.detach();
        }
    }

    fn fail(&mut self, end: BodyEnd) -> IncompleteBody {
        self.end(end);
        IncompleteBody
    }

    /// Passes on what the guest has written.
    fn pass(
        &mut self,
        frame: Option<Result<Frame<Bytes>, Error>>,
    ) -> Option<Result<Frame<Bytes>, IncompleteBody>> {
        match frame {
            // The source ends in the same way when the guest's store is dropped.
            None if self.progress.has_failed() => Some(Err(self.fail(BodyEnd::Aborted))),
            None => {
                self.end(BodyEnd::Complete);
                None
            }
            Some(Err(_)) => Some(Err(self.fail(BodyEnd::Aborted))),
            Some(Ok(frame)) => {
                let data = frame.data_ref().map_or::<&[u8], _>(&[], |data| data.as_ref());
                self.sent = self.sent.saturating_add(data.len() as u64);
                if let Some(record) = &mut self.record {
                    record.add(data);
                }
                if self.sent > self.limit as u64 {
                    self.progress.refuse(too_large(self.limit));
                    return Some(Err(self.fail(BodyEnd::Aborted)));
                }
                self.progress.set_moved();
                if frame.is_trailers() {
                    self.end(BodyEnd::Complete);
                }
                Some(Ok(with_sound_trailers(frame)))
            }
        }
    }

    /// Reads the next piece from the guest.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, IncompleteBody>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if self.progress.has_failed() {
            return Poll::Ready(Some(Err(self.fail(BodyEnd::Aborted))));
        }
        let mut frame = Pin::new(&mut self.inner).poll_frame(cx);
        let mut unfinished = BodyEnd::Unfinished;
        if frame.is_pending() {
            match self.progress.set_waiting(Some(cx.waker())) {
                GuestState::Running => return Poll::Pending,
                GuestState::Returned => {}
                GuestState::Trapped | GuestState::Failed => unfinished = BodyEnd::Aborted,
            }
            // What the guest wrote last may have come in between; it writes no more. That the task is to yield must not look
            // like the end.
            let last = poll_fn(|cx| Pin::new(&mut self.inner).poll_frame(cx));
            frame = pin!(unconstrained(last)).poll(cx);
        }
        self.progress.set_waiting(None);
        match frame {
            Poll::Ready(frame) => Poll::Ready(self.pass(frame)),
            Poll::Pending => Poll::Ready(Some(Err(self.fail(unfinished)))),
        }
    }
}

impl HttpBody for GuestBody {
    type Data = Bytes;
    type Error = IncompleteBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, IncompleteBody>>> {
        match self.ahead.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => self.poll_read(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_empty() && (self.has_ended || self.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let length = |frame: &Result<Frame<Bytes>, _>| Some(frame.as_ref().ok()?.data_ref()?.len() as u64);
        // A body with trailers has no length in HTTP/1.1, and one that is incomplete none at all.
        let whole = self.ahead.iter().map(length).sum::<Option<u64>>().filter(|_| self.has_ended);
        whole.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for GuestBody {
    fn drop(&mut self) {
        // What sends a body of a known length does not ask for its end.
        if !self.has_ended
            && (self.is_end_stream() || self.ahead.is_empty() && self.declared == Some(self.sent))
        {
            self.end(BodyEnd::Complete);
        }
    }
}

#[cfg(test)]
mod tests;
