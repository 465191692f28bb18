//! The outermost layer: what every request passes, in one service, because each layer of its own clones and boxes all that
//! is inside of it.

use std::{
    convert::Infallible,
    panic::{self, AssertUnwindSafe},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    extract::Request,
    http::{HeaderValue, header::X_CONTENT_TYPE_OPTIONS},
    response::{IntoResponse, Response},
};
use futures_util::FutureExt as _;
use tower::{Layer, Service};
use tracing::Instrument as _;

use super::{
    access_log::{Entry, RequestObserver},
    compression,
    forwarded::{self, Proxies},
    head_fields, host_field, unknown_length,
};
use crate::{
    error::{self, HostError},
    request_id,
};

/// What the layer uses.
pub(super) struct Passage {
    /// Whether answers are compressed.
    pub(super) compression: bool,
    /// The trusted proxies.
    pub(super) proxies: Proxies,
    /// Counts requests.
    pub(super) observer: Arc<dyn RequestObserver>,
}

/// The layer, outermost first: request id, security headers, access log, number of fields, Host field, client address, panic
/// guard.
#[derive(Clone)]
pub(super) struct OutermostLayer(Arc<Passage>);

impl From<Passage> for OutermostLayer {
    fn from(passage: Passage) -> Self {
        Self(Arc::new(passage))
    }
}

impl<S> Layer<S> for OutermostLayer {
    type Service = Outermost<S>;

    fn layer(&self, inner: S) -> Outermost<S> {
        Outermost { passage: Arc::clone(&self.0), inner }
    }
}

/// A service inside of the layer.
#[derive(Clone)]
pub(super) struct Outermost<S> {
    passage: Arc<Passage>,
    inner: S,
}

impl<S> Service<Request> for Outermost<S>
where
    S: Service<Request>,
    S::Response: IntoResponse,
    S::Error: Into<Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let Passage { compression, proxies, observer } = &*self.passage;
        let (id, span) = request_id::begin(&mut request);
        let entry = Entry::begin(Arc::clone(observer), &request, span.clone());
        let called = match refusal(&request) {
            Some(refusal) => Err(refusal.into_response()),
            None => {
                forwarded::identify(&mut request, proxies);
                if *compression {
                    compression::allow_plain(&mut request);
                }
                // Outside of the span: routes begin to work when their answer is first polled.
                panic::catch_unwind(AssertUnwindSafe(|| self.inner.call(request)))
                    .map_err(|panic| span.in_scope(|| error::answer_panic(panic)))
            }
        };
        let answer = async move {
            let response = match called {
                Ok(called) => answered(called).await,
                Err(refused) => refused,
            };
            let mut response = entry.record(unknown_length::without_length(response));
            response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            id.add_to(&mut response);
            Ok::<_, Infallible>(response)
        };
        Box::pin(answer.instrument(span))
    }
}

/// Returns the answer to a request that no service may see.
fn refusal(request: &Request) -> Option<HostError> {
    if head_fields::are_too_many(request.version(), request.headers()) {
        return Some(HostError::HEAD_TOO_LARGE);
    }
    (!host_field::is_sound(request)).then_some(HostError::BAD_HOST)
}

/// Returns the service's answer, or that to its panic.
async fn answered<R: IntoResponse, E: Into<Infallible>>(
    answer: impl Future<Output = Result<R, E>>,
) -> Response {
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(Ok(response)) => response.into_response(),
        Ok(Err(error)) => match Into::<Infallible>::into(error) {},
        Err(panic) => error::answer_panic(panic),
    }
}
