//! The recording of a live call's outgoing requests, from which those of its copy are answered.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, Request, Response, StatusCode},
};
use bulkhead_runtime::capabilities::{RequestKey, ShadowMode};
use futures_util::stream;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, StreamBody};
use wasmtime_wasi_http::{Error, WasiBody};

/// Most bytes of a body in the recording. A live call that reads a larger one is not copied.
const BODY_BYTES: usize = 256 << 10;

/// A response, with what the guest has read of its body.
#[derive(Clone, Debug)]
struct Recorded {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    is_complete: bool,
}

/// Returns the key of a request. Requests with the same method and URI are answered in the order of their responses.
pub(crate) fn key(shadow: &ShadowMode, request: &Request<WasiBody>) -> RequestKey {
    shadow.key(format_args!("wasi:http {} {}", request.method(), request.uri()))
}

/// Returns a response that is recorded, in a live call with a copy, as its guest reads it.
pub(crate) fn recorded(
    shadow: ShadowMode,
    key: RequestKey,
    response: Response<WasiBody>,
) -> Response<WasiBody> {
    if !matches!(shadow, ShadowMode::Record(_)) {
        return response;
    }
    let (status, headers) = (response.status(), response.headers().clone());
    let recorded = Recorded { status, headers, body: Vec::new(), is_complete: false };
    let recorder = Recorder { shadow, key, recorded };
    response.map(|inner| RecordedBody { inner, recorder: Some(recorder) }.boxed_unsync())
}

/// Returns the response that the live call got to such a request, if there is one left.
pub(crate) fn replayed(shadow: &ShadowMode, key: RequestKey) -> Option<Response<WasiBody>> {
    let Recorded { status, headers, body, is_complete } = shadow.replayed(key)?;
    let data = (!body.is_empty()).then(|| Ok(Frame::data(Bytes::from(body))));
    let end = (!is_complete).then_some(Err(Error::HttpResponseIncomplete));
    let frames = data.into_iter().chain(end);
    let mut response = Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Some(response)
}

/// Reads the body of a request that is not sent, so that its guest can write it.
pub(crate) async fn drain(mut body: WasiBody) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// What records a response.
struct Recorder {
    shadow: ShadowMode,
    key: RequestKey,
    recorded: Recorded,
}

impl Recorder {
    /// Adds a piece of the body; false if the body is too large for the recording.
    fn add(&mut self, frame: &Frame<Bytes>) -> bool {
        let data = frame.data_ref().map_or::<&[u8], _>(&[], |data| data.as_ref());
        let body = &mut self.recorded.body;
        let fits = body.len().saturating_add(data.len()) <= BODY_BYTES;
        if fits {
            body.extend_from_slice(data);
        } else {
            self.shadow.give_up();
        }
        fits
    }

    fn end(self, is_complete: bool) {
        self.shadow.record(self.key, &Recorded { is_complete, ..self.recorded });
    }
}

/// The body of a response that is recorded; `recorder` is `None` once its end is, or it is too large.
struct RecordedBody {
    inner: WasiBody,
    recorder: Option<Recorder>,
}

impl RecordedBody {
    fn end(&mut self, is_complete: bool) {
        if let Some(recorder) = self.recorder.take() {
            recorder.end(is_complete);
        }
    }
}

impl Body for RecordedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.inner).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                this.recorder = this.recorder.take().and_then(|mut known| known.add(frame).then_some(known));
            }
            Poll::Ready(None) => this.end(true),
            Poll::Ready(Some(Err(_))) => this.end(false),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        // What reads a body of a known length does not ask for its end, and a guest may leave a body unread.
        let is_complete = self.inner.is_end_stream();
        self.end(is_complete);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use bulkhead_runtime::capabilities::Recording;
    use http_body_util::Full;

    use super::*;

    fn pair() -> (ShadowMode, ShadowMode) {
        let recording = Arc::new(Recording::new(1 << 20));
        (ShadowMode::Record(Arc::clone(&recording)), ShadowMode::Replay(recording))
    }

    fn body(length: usize) -> WasiBody {
        Full::new(Bytes::from(vec![b'x'; length])).map_err(|never| match never {}).boxed_unsync()
    }

    /// The response of a live call with a body of this length.
    fn live(shadow: &ShadowMode, length: usize) -> Response<WasiBody> {
        let request = Request::get("https://a.example/").body(body(0)).unwrap();
        let response = Response::builder().status(207).body(body(length)).unwrap();
        recorded(shadow.clone(), key(shadow, &request), response)
    }

    /// The response of the copy.
    fn copied(shadow: &ShadowMode) -> Option<Response<WasiBody>> {
        let request = Request::get("https://a.example/").body(body(0)).unwrap();
        replayed(shadow, key(shadow, &request))
    }

    #[tokio::test]
    async fn copy_gets_the_response_once() {
        let (recorder, shadow) = pair();
        live(&recorder, 3).into_body().collect().await.unwrap();
        let response = copied(&shadow).unwrap();
        assert_eq!(response.status(), 207);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "xxx");
        assert!(copied(&shadow).is_none());
    }

    #[tokio::test]
    async fn unread_body_is_incomplete_in_copy() {
        let (recorder, shadow) = pair();
        drop(live(&recorder, 3));
        let response = copied(&shadow).unwrap();
        assert_eq!(response.status(), 207);
        assert!(response.into_body().collect().await.is_err());
    }

    #[tokio::test]
    async fn large_body_skips_the_copy() {
        let (recorder, _) = pair();
        live(&recorder, BODY_BYTES + 1).into_body().collect().await.unwrap();
        assert!(matches!(&recorder, ShadowMode::Record(recording) if recording.is_full()));
    }
}
