//! Request metrics, and the service's name for the log.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};
use bulkhead_http::access_log::Served;

use super::{REST, SERVICE, TicketState};
use crate::metrics::TicketRequest;

/// Middleware: counts a request by its route, never by its path. Runs are counted in their handlers.
pub async fn count(State(state): State<Arc<TicketState>>, request: Request, next: Next) -> Response {
    let since = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(REST, MatchedPath::as_str);
    let route = if route == REST { "unmatched" } else { route };
    let mut response = next.run(request).await;
    let (status, elapsed) = (response.status().as_u16(), since.elapsed());
    state.metrics.record_request(&TicketRequest { method: method.as_str(), route, status, elapsed });
    let extensions = response.extensions_mut();
    if extensions.get::<Served>().is_none() {
        extensions.insert(Served { service: SERVICE, error: None });
    }
    response
}
