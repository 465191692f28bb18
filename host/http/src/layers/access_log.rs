//! Writes one log line, where `log.access` asks for it, and one observation per request. Neither contains a raw path, a
//! query or an address.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    extract::{MatchedPath, Request},
    http::StatusCode,
    response::Response,
};
use bulkhead_telemetry::{logs, metrics::method_label, series::InProgress};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tracing::Span;

/// The route in the log where none matched.
const UNMATCHED: &str = "unmatched";
/// The service of an answer that none of the services gave.
pub const HOST: &str = "host";

/// A service's statement about its answer, for the log and metrics; put it into the answer's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The service.
    pub service: &'static str,
    /// The name of the fault inside the host that caused the answer.
    pub error: Option<&'static str>,
}

/// Where the part of the host is mounted that has answered without a route of its own: the log has it in place of a
/// template. Put it into the answer's extensions.
#[derive(Clone, Debug)]
pub struct MountedAt(pub Arc<str>);

/// A request whose answer is complete, or whose client has gone.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The service that answered, and the fault.
    pub served: Served,
    /// The method, `OTHER` if HTTP does not define it.
    pub method: &'static str,
    /// The route's template, if there is a route.
    pub route: Option<&'a str>,
    /// The answer's status; none when the client went away before there was one.
    pub status: Option<StatusCode>,
    /// From the request head to the end of the answer's body.
    pub elapsed: Duration,
    /// Bytes of the answer's body, after compression.
    pub bytes: u64,
}

/// Counts requests. `()` counts nothing.
pub trait RequestObserver: Send + Sync + 'static {
    /// Records that a request head has arrived. The returned value is dropped when the request ends.
    fn begin(&self) -> Option<InProgress> {
        None
    }

    /// Records that a request has ended; called once for each one begun.
    fn end(&self, _exchange: &Exchange<'_>) {}
}

impl RequestObserver for () {}

/// A request, whose log line is written and whose observer is called when this is dropped.
pub(super) struct Entry {
    _in_progress: Option<InProgress>,
    observer: Arc<dyn RequestObserver>,
    span: Span,
    served: Served,
    method: &'static str,
    route: Option<MatchedPath>,
    mount: Option<MountedAt>,
    status: Option<StatusCode>,
    start: Instant,
    bytes: u64,
}

impl Entry {
    /// Begins with a request, whose span is `span`.
    pub(super) fn begin(observer: Arc<dyn RequestObserver>, request: &Request, span: Span) -> Self {
        Self {
            _in_progress: observer.begin(),
            observer,
            span,
            served: Served { service: HOST, error: None },
            method: method_label(request.method().as_str()),
            route: request.extensions().get().cloned(),
            mount: None,
            status: None,
            start: Instant::now(),
            bytes: 0,
        }
    }

    /// Returns the answer, with whose body this ends.
    pub(super) fn record(mut self, response: Response) -> Response {
        self.status = Some(response.status());
        self.served = response.extensions().get().copied().unwrap_or(self.served);
        self.mount = response.extensions().get().cloned();
        response.map(|inner| Body::new(Recorded { inner, entry: self }))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let (method, bytes, elapsed) = (self.method, self.bytes, self.start.elapsed());
        let template = self.route.as_ref().map(MatchedPath::as_str);
        self.observer.end(&Exchange {
            served: self.served,
            method,
            route: template,
            status: self.status,
            elapsed,
            bytes,
        });
        let is_error = self.status.is_none_or(|status| status.as_u16() >= 400);
        if !logs::logs_access(is_error, elapsed) {
            return;
        }
        let mount = self.mount.as_ref().map(|MountedAt(mount)| &**mount);
        let route = template.or(mount).unwrap_or(UNMATCHED);
        let ms = (elapsed.as_secs_f64() * 1e6).round() / 1e3;
        // The line's parent: to enter it and leave it costs more.
        let span = &self.span;
        match self.status {
            Some(status) => {
                let status = status.as_u16();
                tracing::info!(parent: span, method, route, status, ms, bytes, "answered");
            }
            None => tracing::info!(parent: span, method, route, ms, "client went away"),
        }
    }
}

struct Recorded {
    inner: Body,
    entry: Entry,
}

impl HttpBody for Recorded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            self.entry.bytes += data.len() as u64;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use std::sync::Mutex;

    use axum::{
        Extension, Router,
        extract::State,
        middleware::{Next, from_fn_with_state},
        routing::get,
    };
    use tower::ServiceExt;

    use super::*;

    #[derive(Default)]
    struct Seen(Mutex<Vec<String>>);

    impl RequestObserver for Seen {
        fn end(&self, exchange: &Exchange<'_>) {
            let status = exchange.status.map(|status| status.as_u16());
            let Exchange { served, method, route, bytes, .. } = exchange;
            let line = format!("{} {method} {route:?} {status:?} {bytes}", served.service);
            self.0.lock().unwrap().push(line);
        }
    }

    async fn record(
        State(observer): State<Arc<dyn RequestObserver>>,
        request: Request,
        next: Next,
    ) -> Response {
        let entry = Entry::begin(observer, &request, Span::none());
        entry.record(next.run(request).await)
    }

    async fn observed(method: &str, path: &str) -> Vec<String> {
        let seen = Arc::new(Seen::default());
        let observer: Arc<dyn RequestObserver> = seen.clone();
        let served = Served { service: "things", error: None };
        let router = Router::new()
            .route("/things/{id}", get(async move || (Extension(served), "hello")))
            .route("/slow", get(std::future::pending::<()>))
            .layer(from_fn_with_state(observer, record));
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let answer = async {
            let response = router.oneshot(request).await.unwrap();
            axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        };
        tokio::select! {
            biased;
            () = answer => {},
            () = std::future::ready(()) => {},
        }
        std::mem::take(&mut *seen.0.lock().unwrap())
    }

    #[tokio::test]
    async fn a_request_is_observed_by_its_template() {
        assert_eq!(
            observed("GET", "/things/secret?q=1").await,
            [r#"things GET Some("/things/{id}") Some(200) 5"#]
        );
    }

    #[tokio::test]
    async fn unknown_routes_and_methods_make_no_labels() {
        assert_eq!(observed("BREW", "/etc/passwd").await, ["host OTHER None Some(404) 0"]);
    }

    #[tokio::test]
    async fn departed_client_is_observed() {
        assert_eq!(observed("GET", "/slow").await, [r#"host GET Some("/slow") None 0"#]);
    }
}
