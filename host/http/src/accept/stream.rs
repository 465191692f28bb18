//! Wraps the byte stream and the bodies of a connection, and records their progress in its [`ConnectionActivity`]. The
//! stream also replaces the parser's answer to a refused request head.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{BoxError, body::Body};
use bytes::{Buf as _, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::{Version, body::Incoming};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

use super::{
    connection_activity::{BusyGuard, ConnectionActivity},
    refused_head::RefusedHead,
};
use crate::lifecycle::InFlight;

/// Bytes discarded at a time while a client still sends a body that is not read.
const DISCARD_BYTES: usize = 16 * 1024;

/// The bytes of a connection, as they are or over TLS.
pub(super) trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    fn tcp(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Socket for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// A socket that records progress, and that closes so that the last answer arrives, or is seen to be incomplete.
pub(super) struct Stream<S: Socket> {
    inner: S,
    activity: Arc<ConnectionActivity>,
    /// The rest of the answer to a refused head.
    refusal: Bytes,
    write_closed: bool,
}

impl<S: Socket> Stream<S> {
    pub(super) fn new(inner: S, activity: Arc<ConnectionActivity>) -> Self {
        Self { inner, activity, refusal: Bytes::new(), write_closed: false }
    }

    fn note(&self, written: &Poll<io::Result<usize>>) {
        self.activity.set_blocked(written.is_pending());
        if matches!(written, Poll::Ready(Ok(bytes)) if *bytes > 0) {
            self.activity.record_write();
        }
    }

    /// Replaces the parser's answer to a refused head, of which `written` is the beginning, by another one. The
    /// parser's answer is the last thing written on a connection, and is written at once.
    fn replaces(&mut self, written: &[u8]) -> bool {
        // An answer of a service may have such a status, too. While one that its client does not take in waits in
        // hyper's buffer, an answer of the parser's waits behind it and goes out as it is.
        if self.activity.is_answering() {
            return false;
        }
        let Some(refused) = RefusedHead::of(written) else {
            return false;
        };
        self.activity.refuse_head(refused.fault());
        self.refusal = refused.answer();
        true
    }
}

impl<S: Socket> Stream<S> {
    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = Pin::new(&mut self.inner).poll_write(cx, &self.refusal);
            self.note(&written);
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => self.refusal.advance(bytes),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Socket> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.record_read();
        }
        read
    }
}

impl<S: Socket> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.note(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if slices.first().is_some_and(|first| self.replaces(first)) {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes only when it has no bytes left to write.
        self.activity.flush_answers();
        ready!(self.poll_refusal(cx))?;
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.activity.set_blocked(flushed.is_pending());
        flushed
    }

    /// Closes the sending half; then, if the client is still sending a body, reads on until it stops:
    /// closing a socket with unread bytes resets it, and the client would lose the answer. The
    /// connection's idle timer bounds this.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.write_closed {
            ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
            self.write_closed = true;
        }
        let mut discarded = [0; DISCARD_BYTES];
        while self.activity.unread() {
            let mut buffer = ReadBuf::new(&mut discarded);
            let read = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Socket> Drop for Stream<S> {
    /// Resets a connection whose end alone would say that its answer is complete, unless it is. hyper shuts the connection
    /// down in order only then.
    fn drop(&mut self) {
        if self.activity.is_answer_ended_by_close() && !self.write_closed {
            // Fails only if the connection has ended.
            let _ = self.inner.tcp().set_zero_linger();
        }
    }
}

/// A request body that records whether it is waited for, and whether it was read to its end.
pub(super) struct RequestBody {
    inner: Incoming,
    activity: Arc<ConnectionActivity>,
    /// In HTTP/2 an unread body concerns its own stream only.
    multiplexed: bool,
    awaited: bool,
    ended: bool,
}

impl RequestBody {
    pub(super) fn new(inner: Incoming, activity: Arc<ConnectionActivity>, version: Version) -> Self {
        let multiplexed = version == Version::HTTP_2;
        if !multiplexed {
            activity.set_unread(false);
        }
        Self { inner, activity, multiplexed, awaited: false, ended: false }
    }

    /// Records that the body is waited for, from the first wait until it is complete.
    fn set_awaited(&mut self, awaited: bool) {
        match (self.awaited, awaited) {
            (false, true) => self.activity.begin_wait(),
            (true, false) => self.activity.end_wait(),
            _ => {}
        }
        self.awaited = awaited;
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            self.set_awaited(true);
            return Poll::Pending;
        };
        if !matches!(frame, Some(Ok(_))) || self.inner.is_end_stream() {
            self.set_awaited(false);
        }
        self.ended |= frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.set_awaited(false);
        if !self.multiplexed {
            self.activity.set_unread(!self.ended && !self.inner.is_end_stream());
        }
    }
}

/// An answer's body. The connection is busy while the body's source is slow, and not while the client is slow, so that
/// a client that never reads is disconnected.
pub(super) struct ResponseBody {
    inner: Body,
    activity: Arc<ConnectionActivity>,
    waiting: Option<BusyGuard>,
    _in_flight: InFlight,
}

impl ResponseBody {
    pub(super) fn new(inner: Body, activity: Arc<ConnectionActivity>, in_flight: InFlight) -> Self {
        activity.begin_answer();
        Self { inner, activity, waiting: None, _in_flight: in_flight }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.activity.end_answer();
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Pending => {
                if self.waiting.is_none() {
                    self.waiting = Some(self.activity.begin_work());
                }
                Poll::Pending
            }
            Poll::Ready(frame) => {
                self.waiting = None;
                Poll::Ready(frame.map(|result| result.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
