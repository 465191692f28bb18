//! Serves one connection from its handshake to its end.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use axum::{body::Body, http::StatusCode};
use futures_util::FutureExt as _;
use http_body::Body as _;
use hyper::{
    Method, Request, Response, Version,
    body::Incoming,
    header::{CONNECTION, CONTENT_LENGTH, HeaderValue},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::{
    OverTls, PeerAddr,
    connection_activity::{ConnectionActivity, IdleLimits},
    connection_limit::ConnectionPermit,
    listen::BoundListener,
    live_router::LiveRouter,
    observer::ConnectionFault,
    settings::ConnectionSettings,
    stream::{RequestBody, ResponseBody, Socket, Stream},
    tls::Certificates,
};
use crate::lifecycle::Stopping;

/// Largest HTTP/1 request head, bytes; above it the answer is 431. Its limit of 100 fields stays, and
/// [`head_fields`](crate::layers::head_fields) has the same for HTTP/2.
const HTTP1_HEAD_BYTES: usize = 64 * 1024;
/// Largest HTTP/2 field section, bytes after decompression.
const HTTP2_HEAD_BYTES: u32 = 64 * 1024;
/// Requests at once on one HTTP/2 connection: the least that RFC 9113 recommends.
const HTTP2_STREAMS: u32 = 100;
/// How long an idle connection has for a graceful shutdown.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// What all connections of a listener share.
#[derive(Clone)]
pub(super) struct Connection {
    builder: Arc<auto::Builder<TokioExecutor>>,
    router: LiveRouter,
    tls: Option<Arc<Certificates>>,
    settings: ConnectionSettings,
    stopping: Stopping,
}

impl Connection {
    pub(super) fn new(
        bound: &BoundListener,
        router: LiveRouter,
        settings: ConnectionSettings,
        stopping: Stopping,
    ) -> Self {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().max_buf_size(HTTP1_HEAD_BYTES).header_read_timeout(None);
        // hyper's caps on streams that the client resets at once stay in force.
        builder.http2().max_concurrent_streams(HTTP2_STREAMS).max_header_list_size(HTTP2_HEAD_BYTES);
        Self { builder: Arc::new(builder), router, tls: bound.tls.clone(), settings, stopping }
    }
}

/// Serves one accepted connection to its end and counts it.
pub(super) async fn run(shared: Connection, socket: TcpStream, peer: SocketAddr, permit: ConnectionPermit) {
    let observer = Arc::clone(&shared.settings.observer);
    observer.opened();
    // Also when the task is aborted at the end of the drain.
    let _closed = OnDrop(|| observer.closed());
    // Answers are written whole; waiting for more to send only delays them.
    let _ = socket.set_nodelay(true);
    let served = match &shared.tls {
        None => serve(&shared, socket, peer, &permit).await,
        Some(certificates) => {
            let handshake = TlsAcceptor::from(certificates.current()).accept(socket);
            tokio::select! {
                biased;
                shaken = timeout(shared.settings.header_timeout, handshake) => match shaken {
                    Ok(Ok(stream)) => serve(&shared, stream, peer, &permit).await,
                    Ok(Err(_)) | Err(_) => Err(ConnectionFault::Handshake),
                },
                () = permit.evicted() => Err(ConnectionFault::Evicted),
            }
        }
    };
    if let Err(fault) = served {
        tracing::debug!(fault = fault.as_str(), "connection ended early");
        observer.fault(fault);
    }
}

struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

async fn serve<S: Socket>(
    shared: &Connection,
    stream: S,
    peer: SocketAddr,
    permit: &ConnectionPermit,
) -> Result<(), ConnectionFault> {
    let ConnectionSettings { header_timeout: head, keep_alive, .. } = shared.settings;
    let (limits, activity) = (IdleLimits { head, keep_alive }, permit.activity());
    let mut stopping = shared.stopping.clone();
    let io = TokioIo::new(Stream::new(stream, Arc::clone(activity)));
    let service = service_fn(|request| answer(shared, activity, peer, request));
    let mut connection = std::pin::pin!(shared.builder.serve_connection(io, service));
    // After a refused head, how the connection ends says nothing more.
    let unless_refused = |fault| activity.refused_head().unwrap_or(fault);
    let mut grace = Duration::ZERO;
    let (mut ending, mut idled) = (false, false);
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => return match ended {
                Err(_) if idled => Err(unless_refused(ConnectionFault::Timeout)),
                Err(error) => classify(&*error),
                Ok(()) => Ok(()),
            },
            () = stopping.wait(), if !ending => {},
            () = permit.evicted() => {
                connection.as_mut().graceful_shutdown();
                // Shuts down as far as possible without waiting, because another connection waits for the permit.
                let _ = connection.as_mut().now_or_never();
                return Err(unless_refused(ConnectionFault::Evicted));
            }
            () = activity.overdue(limits.later(grace)) => {
                if idled {
                    return Err(unless_refused(ConnectionFault::Timeout));
                }
                idled = true;
                grace = CLOSE_GRACE;
            }
        }
        if !ending {
            connection.as_mut().graceful_shutdown();
            ending = true;
        }
    }
}

/// Passes a request to the router.
fn answer(
    shared: &Connection,
    activity: &Arc<ConnectionActivity>,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<ResponseBody>, Infallible>> + Send + 'static {
    let (busy, in_flight) = (activity.begin_work(), shared.stopping.request());
    let activity = Arc::clone(activity);
    let (version, is_head) = (request.version(), request.method() == Method::HEAD);
    if version == Version::HTTP_2 {
        activity.set_multiplexed();
    }
    let mut request = request.map(|body| Body::new(RequestBody::new(body, Arc::clone(&activity), version)));
    request.extensions_mut().insert(PeerAddr(peer));
    request.extensions_mut().insert(OverTls(shared.tls.is_some()));
    let routed = shared.router.current().oneshot(request);
    async move {
        let Ok(mut response) = routed.await;
        if version < Version::HTTP_2 && abandons_body(response.status()) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if version == Version::HTTP_10 && !is_head && is_of_unknown_length(&response) {
            activity.set_answer_ended_by_close();
        }
        drop(busy);
        Ok(response.map(|body| ResponseBody::new(body, activity, in_flight)))
    }
}

/// Returns whether a response has a body whose length its head does not say. HTTP/1.0 has no chunks that would end it.
fn is_of_unknown_length(response: &Response<Body>) -> bool {
    let has_body = !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let body = response.body();
    has_body
        && !response.headers().contains_key(CONTENT_LENGTH)
        && !body.is_end_stream()
        && body.size_hint().exact().is_none()
}

/// Returns whether the rest of the request's body is useless after this status.
fn abandons_body(status: StatusCode) -> bool {
    matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE)
}

fn classify(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Result<(), ConnectionFault> {
    match error.downcast_ref::<hyper::Error>() {
        Some(error) if error.is_parse_too_large() => Err(ConnectionFault::TooLarge),
        Some(error) if error.is_parse() => Err(ConnectionFault::Malformed),
        // The client had gone before the socket was closed, after its last answer.
        Some(error) if error.is_shutdown() => Ok(()),
        // Stopped before the first byte.
        None if is_interrupted(error) => Ok(()),
        _ => Err(ConnectionFault::Broken),
    }
}

fn is_interrupted(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::Interrupted)
}
