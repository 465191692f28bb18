//! The body of a response: a stream with a bound of bytes and of pauses.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep};

use super::{
    call::Call,
    connection::{IdleConnections, Route, UpstreamConnection},
    error::OutgoingError,
};

/// The body of a response, as it arrives. Dropping it before its end closes the connection.
pub struct ReceivedBody {
    body: Incoming,
    left: u64,
    too_large: OutgoingError,
    /// Longest pause.
    between_bytes: Duration,
    /// Runs while the reader waits.
    pause: Pin<Box<Sleep>>,
    is_waiting: bool,
    has_ended: bool,
    connection: Option<(Route, UpstreamConnection)>,
    idle: Arc<IdleConnections>,
    call: Arc<Call>,
}

impl fmt::Debug for ReceivedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedBody").field("left", &self.left).finish_non_exhaustive()
    }
}

/// How much of a response may be received, and when it is too slow.
pub(crate) struct Reception {
    pub(crate) bytes: u64,
    pub(crate) too_large: OutgoingError,
    pub(crate) between_bytes: Duration,
}

impl ReceivedBody {
    pub(crate) fn new(
        body: Incoming,
        reception: Reception,
        connection: (Route, UpstreamConnection),
        idle: Arc<IdleConnections>,
        call: Arc<Call>,
    ) -> Self {
        let Reception { bytes, too_large, between_bytes } = reception;
        let pause = Box::pin(sleep(between_bytes));
        let connection = Some(connection);
        let (is_waiting, has_ended, left) = (false, false, bytes);
        let mut received = Self {
            body,
            left,
            too_large,
            between_bytes,
            pause,
            is_waiting,
            has_ended,
            connection,
            idle,
            call,
        };
        if received.body.is_end_stream() {
            received.finish();
        }
        received
    }

    /// Ends the body; the connection is kept for another request unless the last one is still being sent.
    fn finish(&mut self) {
        self.has_ended = true;
        if let Some((route, connection)) = self.connection.take()
            && self.call.is_sent()
        {
            self.idle.put(route, connection);
        }
    }

    /// Ends the body with an error, and closes the connection.
    fn fail(&mut self, error: OutgoingError) -> Poll<Option<Result<Frame<Bytes>, OutgoingError>>> {
        self.has_ended = true;
        self.connection = None;
        Poll::Ready(Some(Err(self.call.fail(error))))
    }

    /// Waits for the next bytes, until the pause is too long.
    fn poll_pause(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_waiting {
            self.is_waiting = true;
            let now = Instant::now();
            self.pause.as_mut().reset(now.checked_add(self.between_bytes).unwrap_or(now));
        }
        self.pause.as_mut().poll(context)
    }
}

impl Body for ReceivedBody {
    type Data = Bytes;
    type Error = OutgoingError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, OutgoingError>>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        let Poll::Ready(next) = Pin::new(&mut this.body).poll_frame(context) else {
            ready!(this.poll_pause(context));
            return this.fail(OutgoingError::HttpResponseTimeout);
        };
        this.is_waiting = false;
        let frame = match next {
            None => {
                this.finish();
                return Poll::Ready(None);
            }
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                tracing::debug!(%error, "the body of a response to an outgoing request failed");
                let reason = this.call.reason(&error, true);
                return this.fail(reason);
            }
        };
        if let Some(data) = frame.data_ref() {
            let bytes = data.len() as u64;
            let Some(left) = this.left.checked_sub(bytes) else {
                let too_large = this.too_large.clone();
                return this.fail(too_large);
            };
            this.left = left;
            this.call.metrics().record_received(bytes);
        }
        if this.body.is_end_stream() {
            this.finish();
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended
    }

    fn size_hint(&self) -> SizeHint {
        if self.has_ended { SizeHint::with_exact(0) } else { self.body.size_hint() }
    }
}
