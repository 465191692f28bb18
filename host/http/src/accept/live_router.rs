//! A router that is replaced while it is served.

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;

/// A router that may be replaced. Clones share it. A request ends on the router that it began with.
#[derive(Clone, Debug)]
pub struct LiveRouter(Arc<ArcSwap<Router>>);

impl LiveRouter {
    /// Replaces the router for requests that begin from now on.
    pub fn set(&self, router: Router) {
        self.0.store(Arc::new(router));
    }

    /// Returns the router for a request that begins now. Costs one atomic load more than a clone of the router.
    pub(super) fn current(&self) -> Router {
        Router::clone(&self.0.load())
    }
}

impl From<Router> for LiveRouter {
    fn from(router: Router) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(router)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::{
        body::{Body, to_bytes},
        extract::Request,
        routing::get,
    };
    use tower::ServiceExt as _;

    use super::*;

    fn answering(text: &'static str) -> Router {
        Router::new().route("/", get(move || async move { text }))
    }

    async fn answer(router: Router) -> Vec<u8> {
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()
    }

    #[tokio::test]
    async fn begun_request_keeps_its_router() {
        let live = LiveRouter::from(answering("old"));
        let begun = live.current();
        live.clone().set(answering("new"));
        assert_eq!(answer(begun).await, b"old");
        assert_eq!(answer(live.current()).await, b"new");
    }
}
