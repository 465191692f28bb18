//! What every request passes on its way to a service, outermost first: request id, security headers,
//! access log, number of fields, Host field, client address, panic guard, compression, what a
//! listener adds, fallbacks.

use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderValue, header::X_CONTENT_TYPE_OPTIONS},
    middleware::{from_fn, from_fn_with_state, map_request, map_response},
    response::Response,
};
use bulkhead_config::server::Server;
use tower_http::catch_panic::CatchPanicLayer;

use super::{
    access_log::{self, RequestObserver},
    compression, error,
    forwarded::{self, Proxies},
    head_fields, host_field, request_id,
};

/// What the layers need to know.
#[derive(Clone)]
pub struct Layers {
    /// Compress answers for clients that accept gzip.
    pub compression: bool,
    /// Whose word on the client's address is believed.
    pub proxies: Proxies,
    /// Counts requests.
    pub observer: Arc<dyn RequestObserver>,
    /// What a listener puts around its routes and their fallbacks, inside of all the rest.
    pub innermost: Option<fn(Router) -> Router>,
}

impl Layers {
    /// The layers of public listeners.
    pub fn new(server: &Server, observer: Arc<dyn RequestObserver>) -> Self {
        let proxies = Proxies::new(server);
        Self { compression: server.compression, proxies, observer, innermost: None }
    }
}

/// Puts the layers around all of `router`'s routes. Call it last.
pub fn around(router: Router, layers: Layers) -> Router {
    let router = error::with_fallbacks(router);
    let router = match layers.innermost {
        Some(put_around) => put_around(router),
        None => router,
    };
    let router = if layers.compression {
        router.layer((map_request(compression::allow_plain), compression::gzip()))
    } else {
        router
    };
    // As one layer, outermost first: each call of `Router::layer` boxes every route, and each request clones the box.
    router.layer((
        from_fn(request_id::identify),
        map_response(forbid_sniffing),
        from_fn_with_state(layers.observer, access_log::record),
        from_fn(head_fields::limit),
        from_fn(host_field::check),
        from_fn_with_state(layers.proxies, forwarded::identify),
        CatchPanicLayer::custom(error::answer_panic),
    ))
}

/// Browsers must take the declared content type at its word.
pub async fn forbid_sniffing(mut response: Response) -> Response {
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests;
