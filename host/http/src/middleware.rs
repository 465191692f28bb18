//! Puts steps around routes: one before a request, one after its answer. A layer made of an async function clones and boxes
//! all that is inside of it once more for each request; these do not. Each layer clones what is inside of it, so that both
//! steps are better added in one.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    pin::Pin,
    task::{Context, Poll},
};

use axum::{Router, extract::Request, response::Response, routing::Route};
use futures_util::future::Either;
use tower::{Layer, Service};

/// The result of a service inside of a router.
type Answered = Result<Response, Infallible>;

/// Has each request to the router's routes pass `check`, which may change it. An answer that it returns is sent in place of
/// the route's.
pub fn check_requests<S, F>(router: Router<S>, check: F) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(&mut Request) -> Option<Response> + Clone + Send + Sync + 'static,
{
    router.layer(CheckLayer(check))
}

/// Has each request pass `check` as [`check_requests`] does, and each answer, also one of `check`, pass `change`, with what
/// `note` takes from its request before.
pub fn check_and_change<S, C, N, F>(
    router: Router<S>,
    check: C,
    note: fn(&Request) -> N,
    change: F,
) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    C: Fn(&mut Request) -> Option<Response> + Clone + Send + Sync + 'static,
    N: Send + 'static,
    F: Fn(N, Response) -> Response + Clone + Send + Sync + 'static,
{
    router.layer(ChangeLayer { check, note, change })
}

#[derive(Clone)]
struct CheckLayer<F>(F);

impl<F: Clone> Layer<Route> for CheckLayer<F> {
    type Service = Checked<F>;

    fn layer(&self, inner: Route) -> Checked<F> {
        Checked { check: self.0.clone(), inner }
    }
}

#[derive(Clone)]
struct Checked<F> {
    check: F,
    inner: Route,
}

impl<F: Fn(&mut Request) -> Option<Response>> Service<Request> for Checked<F> {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Answered>, <Route as Service<Request>>::Future>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A route is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match (self.check)(&mut request) {
            Some(answer) => Either::Left(ready(Ok(answer))),
            None => Either::Right(self.inner.call(request)),
        }
    }
}

struct ChangeLayer<C, N, F> {
    check: C,
    note: fn(&Request) -> N,
    change: F,
}

impl<C: Clone, N, F: Clone> Clone for ChangeLayer<C, N, F> {
    fn clone(&self) -> Self {
        Self { check: self.check.clone(), note: self.note, change: self.change.clone() }
    }
}

impl<C: Clone, N, F: Clone> Layer<Route> for ChangeLayer<C, N, F> {
    type Service = Changed<C, N, F>;

    fn layer(&self, inner: Route) -> Changed<C, N, F> {
        Changed { layer: self.clone(), inner }
    }
}

struct Changed<C, N, F> {
    layer: ChangeLayer<C, N, F>,
    inner: Route,
}

impl<C: Clone, N, F: Clone> Clone for Changed<C, N, F> {
    fn clone(&self) -> Self {
        Self { layer: self.layer.clone(), inner: self.inner.clone() }
    }
}

impl<C, N, F> Service<Request> for Changed<C, N, F>
where
    C: Fn(&mut Request) -> Option<Response>,
    N: Send + 'static,
    F: Fn(N, Response) -> Response + Clone + Send + Sync + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answered> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A route is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let ChangeLayer { check, note, change } = &self.layer;
        let noted = note(&request);
        if let Some(answer) = check(&mut request) {
            return Box::pin(ready(Ok(change(noted, answer))));
        }
        let (change, answer) = (change.clone(), self.inner.call(request));
        Box::pin(async move { Ok(change(noted, answer.await?)) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::{Extension, body::Body, http::StatusCode, response::IntoResponse as _, routing::get};
    use tower::ServiceExt as _;

    use super::*;

    async fn answer(Extension(noted): Extension<&'static str>) -> &'static str {
        noted
    }

    async fn status(path: &str) -> (StatusCode, String) {
        let refuse = |request: &mut Request| {
            request.extensions_mut().insert("noted");
            (request.uri().path() == "/secret").then(|| StatusCode::FORBIDDEN.into_response())
        };
        let routes = Router::new().route("/secret", get(answer)).route("/open", get(answer));
        let add = |path: String, mut response: Response| {
            response.extensions_mut().insert(path);
            response
        };
        let note = |request: &Request| request.uri().to_string();
        let apart = check_and_change(check_requests(routes.clone(), refuse), |_| None, note, add);
        let mut answers: Vec<(StatusCode, String)> = Vec::new();
        for routes in [apart, check_and_change(routes, refuse, note, add)] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let mut response = routes.oneshot(request).await.unwrap();
            answers.push((response.status(), response.extensions_mut().remove().unwrap()));
        }
        let both = answers.pop().unwrap();
        assert_eq!(answers.pop().unwrap(), both);
        both
    }

    #[tokio::test]
    async fn request_is_checked_and_answer_changed() {
        assert_eq!(status("/open").await, (StatusCode::OK, "/open".to_owned()));
        assert_eq!(status("/secret").await, (StatusCode::FORBIDDEN, "/secret".to_owned()));
    }
}
