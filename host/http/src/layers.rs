//! Builds the middleware of every request, outermost first: request id, security headers,
//! access log, number of fields, Host field, client address, panic guard, compression, what a
//! listener adds, fallbacks.

pub mod access_log;
pub mod compression;
pub mod forwarded;
pub mod head_fields;
pub mod host_field;
mod metering;
mod outermost;
pub mod unknown_length;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, header::X_CONTENT_TYPE_OPTIONS},
    middleware::Next,
    response::Response,
};
use bulkhead_config::server::Server;
use tracing::Instrument as _;

use crate::{error, request_id};
use access_log::RequestObserver;
use forwarded::Proxies;
use outermost::{OutermostLayer, Passage};

/// A layer around the routes of a listener.
pub type RouterLayer = Arc<dyn Fn(Router) -> Router + Send + Sync>;

/// Settings of the layers.
#[derive(Clone)]
pub struct Layers {
    /// Compress answers for clients that accept gzip.
    pub compression: bool,
    /// The trusted proxies.
    pub proxies: Proxies,
    /// Counts requests.
    pub observer: Arc<dyn RequestObserver>,
    /// A listener's own layer around its routes and their fallbacks, inside of all others.
    pub innermost: Option<RouterLayer>,
    /// Answers what no route takes; without it, that is an error of the host.
    pub rest: Option<Router>,
}

impl Layers {
    /// Returns the layers of public listeners.
    pub fn new(server: &Server, observer: Arc<dyn RequestObserver>) -> Self {
        let proxies = Proxies::new(server);
        Self { compression: server.compression, proxies, observer, innermost: None, rest: None }
    }
}

/// Adds the layers to all of `router`'s routes. Call it last.
pub fn with_layers(router: Router, layers: Layers) -> Router {
    let router = error::with_fallbacks(router);
    let router = match layers.rest {
        Some(rest) => router.fallback_service(rest),
        None => router,
    };
    let router = match layers.innermost {
        Some(wrap) => wrap(router),
        None => router,
    };
    let Layers { compression, proxies, observer, .. } = layers;
    let outermost = OutermostLayer::from(Passage { compression, proxies, observer });
    // In one call, because each call of `layer` clones and boxes all that is inside of it for each request.
    if compression { router.layer((outermost, compression::gzip())) } else { router.layer(outermost) }
}

/// Makes browsers use the declared content type.
pub async fn forbid_sniffing(mut response: Response) -> Response {
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Gives the request an id and adds it to the answer (middleware of a listener without [`with_layers`]).
pub async fn identify(mut request: Request, next: Next) -> Response {
    let (id, span) = request_id::begin(&mut request);
    let mut response = next.run(request).instrument(span).await;
    id.add_to(&mut response);
    response
}

#[cfg(test)]
mod tests;
