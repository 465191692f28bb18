//! The body of a guest's response, as the client gets it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
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
use http_body::{Body as HttpBody, Frame};
use http_body_util::BodyExt as _;
use wasmtime_wasi_http::{Error, p2::body::HyperOutgoingBody};

use crate::{
    call::CallTask,
    compared::BodyRecord,
    progress::{BodyEnd, CallProgress, GuestState},
};

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
    /// The first piece, where it has been awaited before the client gets the head.
    first: Option<Frame<Bytes>>,
    /// Ends the call when dropped; `None` once the body has ended.
    call: Option<CallTask>,
}

impl GuestBody {
    /// Returns the body of a response that has at most `limit` bytes, and has `declared` ones if it says so.
    pub(crate) fn new(
        inner: HyperOutgoingBody,
        progress: Arc<CallProgress>,
        limit: usize,
        declared: Option<u64>,
        call: CallTask,
    ) -> Self {
        Self { inner, progress, limit, sent: 0, declared, record: None, first: None, call: Some(call) }
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
                self.first = Some(frame);
                return true;
            }
        }
        false
    }

    /// Records the end of the body. The call ends with it, or goes on alone.
    fn end(&mut self, end: BodyEnd) {
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
}

impl HttpBody for GuestBody {
    type Data = Bytes;
    type Error = IncompleteBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, IncompleteBody>>> {
        let this = &mut *self;
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if this.progress.has_failed() && this.call.is_some() {
            return Poll::Ready(Some(Err(this.fail(BodyEnd::Aborted))));
        }
        let mut frame = Pin::new(&mut this.inner).poll_frame(cx);
        let mut unfinished = BodyEnd::Unfinished;
        if frame.is_pending() {
            match this.progress.set_waiting(Some(cx.waker())) {
                GuestState::Running => return Poll::Pending,
                GuestState::Returned => {}
                GuestState::Trapped | GuestState::Failed => unfinished = BodyEnd::Aborted,
            }
            // What the guest wrote last may have come in between; it writes no more.
            frame = Pin::new(&mut this.inner).poll_frame(cx);
        }
        this.progress.set_waiting(None);
        match frame {
            Poll::Ready(frame) => Poll::Ready(this.pass(frame)),
            Poll::Pending => Poll::Ready(Some(Err(this.fail(unfinished)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.inner.is_end_stream()
    }
}

impl Drop for GuestBody {
    fn drop(&mut self) {
        // What sends a body of a known length does not ask for its end.
        if self.is_end_stream() || self.first.is_none() && self.declared == Some(self.sent) {
            self.end(BodyEnd::Complete);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use axum::http::{HeaderName, HeaderValue};
    use futures_util::FutureExt as _;
    use wasmtime_wasi_http::p2::body::{HostOutgoingBody, StreamContext};

    use super::*;

    /// A body, and what a guest writes it with.
    fn body(limit: usize) -> (GuestBody, HostOutgoingBody, Arc<CallProgress>) {
        let (guest, inner) = HostOutgoingBody::new(StreamContext::Response, None, 1, 1024);
        let progress = Arc::new(CallProgress::new());
        progress.set_head(200);
        let call = CallTask::spawn(std::future::pending());
        (GuestBody::new(inner, Arc::clone(&progress), limit, None, call), guest, progress)
    }

    fn write(guest: &mut HostOutgoingBody, text: &'static str) {
        let mut stream = guest.take_output_stream().unwrap();
        stream.write(Bytes::from_static(text.as_bytes())).unwrap();
    }

    #[tokio::test]
    async fn finished_body_is_complete() {
        let (body, mut guest, progress) = body(100);
        write(&mut guest, "hello");
        guest.finish(None).unwrap();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
        assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
    }

    fn end_of(progress: &CallProgress) -> Option<BodyEnd> {
        let hour = std::time::Duration::from_secs(3600);
        let limits = crate::progress::TimeLimits { head: hour, idle: hour, whole: hour };
        progress.body_end(&limits).now_or_never()?.ok()
    }

    #[tokio::test]
    async fn body_of_failed_guest_is_an_error() {
        let (body, mut guest, progress) = body(100);
        write(&mut guest, "hello");
        progress.set_guest(GuestState::Failed);
        drop(guest);
        body.collect().await.unwrap_err();
        assert_eq!(end_of(&progress), Some(BodyEnd::Aborted));
    }

    #[tokio::test]
    async fn finished_body_of_trapped_guest_is_complete() {
        let (body, mut guest, progress) = body(100);
        write(&mut guest, "hello");
        guest.finish(None).unwrap();
        progress.set_guest(GuestState::Trapped);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
        assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
    }

    #[tokio::test]
    async fn open_body_of_trapped_guest_is_aborted() {
        let (mut body, mut guest, progress) = body(100);
        write(&mut guest, "hello");
        progress.set_guest(GuestState::Trapped);
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hello");
        body.frame().await.unwrap().unwrap_err();
        assert_eq!(end_of(&progress), Some(BodyEnd::Aborted));
    }

    #[tokio::test]
    async fn body_left_open_is_an_error() {
        let (mut body, mut guest, progress) = body(100);
        write(&mut guest, "hello");
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hello");
        assert!(body.frame().now_or_never().is_none(), "the guest may write more");
        progress.set_guest(GuestState::Returned);
        body.frame().await.unwrap().unwrap_err();
        assert_eq!(end_of(&progress), Some(BodyEnd::Unfinished));
    }

    #[tokio::test]
    async fn first_piece_is_kept() {
        let (mut body, mut guest, _progress) = body(100);
        write(&mut guest, "hello");
        assert!(body.has_begun().await);
        guest.finish(None).unwrap();
        assert!(!body.is_end_stream(), "the first piece is to come");
        assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
    }

    #[tokio::test]
    async fn empty_body_has_not_begun() {
        let (mut body, guest, progress) = body(100);
        guest.finish(None).unwrap();
        assert!(!body.has_begun().await);
        assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
    }

    #[test]
    fn trailers_have_no_fields_of_heads() {
        let fields = [(CONTENT_LENGTH, "7"), (SET_COOKIE, "a=b"), (HeaderName::from_static("x-sum"), "7")];
        let fields = fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
        let frame = with_sound_trailers(Frame::trailers(HeaderMap::from_iter(fields)));
        let trailers = frame.into_trailers().unwrap();
        assert_eq!(trailers.keys().collect::<Vec<_>>(), ["x-sum"]);
    }

    #[tokio::test]
    async fn body_over_its_limit_is_refused() {
        let (body, mut guest, progress) = body(4);
        write(&mut guest, "hello");
        guest.finish(None).unwrap();
        body.collect().await.unwrap_err();
        assert_eq!(end_of(&progress), None, "the call is refused");
    }
}
