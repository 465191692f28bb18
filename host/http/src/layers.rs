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
    /// Answers what no route takes, not compressed unless `innermost` is around it; without it, that is an error of the host.
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
    let Layers { compression, proxies, observer, innermost, rest } = layers;
    let router = error::with_fallbacks(router);
    // Outside of the compression, which would wrap every answer of it for nothing, unless a layer is around both.
    let (inside, outside) = if innermost.is_some() { (rest, None) } else { (None, rest) };
    let router = with_rest(router, inside);
    let router = match innermost {
        Some(wrap) => wrap(router),
        None => router,
    };
    let outermost = OutermostLayer::from(Passage { compression, proxies, observer });
    match outside {
        Some(rest) if compression => {
            router.layer(compression::gzip()).fallback_service(rest).layer(outermost)
        }
        // In one call, because each call of `layer` clones and boxes all that is inside of it for each request.
        None if compression => router.layer((outermost, compression::gzip())),
        outside => with_rest(router, outside).layer(outermost),
    }
}

/// Adds what takes the requests that no route takes, if there is such a router.
fn with_rest(router: Router, rest: Option<Router>) -> Router {
    match rest {
        Some(rest) => router.fallback_service(rest),
        None => router,
    }
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
