//! The body of an outgoing request: a stream with a bound of bytes.

use std::{
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};

use crate::{call::Call, error::OutgoingError};

/// An error of any kind.
type BoxError = Box<dyn Error + Send + Sync>;

/// The body of a request, as it is sent.
pub(crate) struct SentBody {
    body: UnsyncBoxBody<Bytes, BoxError>,
    left: u64,
    /// The error of a body that has more bytes than are left.
    too_large: OutgoingError,
    call: Arc<Call>,
}

impl SentBody {
    /// Limits a body to so many bytes; `too_large` is the error of one that has more.
    pub(crate) fn new<B>(body: B, bytes: u64, too_large: OutgoingError, call: Arc<Call>) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self { body: body.map_err(Into::into).boxed_unsync(), left: bytes, too_large, call }
    }
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = OutgoingError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, OutgoingError>>> {
        let this = self.get_mut();
        let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
            None => {
                this.call.record_sent();
                return Poll::Ready(None);
            }
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                tracing::debug!(%error, "the body of an outgoing request failed");
                let error = this.call.fail_sending(OutgoingError::HttpRequestBodyBroken);
                return Poll::Ready(Some(Err(error)));
            }
        };
        if let Some(data) = frame.data_ref() {
            let bytes = data.len() as u64;
            let Some(left) = this.left.checked_sub(bytes) else {
                let error = this.call.fail_sending(this.too_large.clone());
                return Poll::Ready(Some(Err(error)));
            };
            this.left = left;
            this.call.metrics().record_sent(bytes);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for SentBody {
    fn drop(&mut self) {
        self.call.record_sent();
    }
}
