//! Request metrics, and the service's name for the log.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    response::Response,
};
use bulkhead_http::access_log::Served;

use super::{REST, SERVICE, TicketState};
use crate::metrics::TicketRequest;

/// What is counted of a request.
pub struct TicketAsked {
    since: Instant,
    method: Method,
    route: Option<MatchedPath>,
}

impl TicketAsked {
    /// Notes a request.
    pub fn of(request: &Request) -> Self {
        let route = request.extensions().get().cloned();
        Self { since: Instant::now(), method: request.method().clone(), route }
    }
}

/// Counts a request by its route, never by its path. Runs are counted in their handlers.
pub fn count(state: &TicketState, asked: &TicketAsked, mut response: Response) -> Response {
    let TicketAsked { since, method, route } = asked;
    let route = route.as_ref().map_or(REST, MatchedPath::as_str);
    let route = if route == REST { "unmatched" } else { route };
    let (status, elapsed) = (response.status().as_u16(), since.elapsed());
    state.metrics.record_request(&TicketRequest { method: method.as_str(), route, status, elapsed });
    let extensions = response.extensions_mut();
    if extensions.get::<Served>().is_none() {
        extensions.insert(Served { service: SERVICE, error: None });
    }
    response
}
