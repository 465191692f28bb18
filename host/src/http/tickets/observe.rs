//! What is counted of each request, and the service's name for the log.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};

use super::{ANSWER, REST, SERVICE, TRIAGE, TicketState};
use crate::{
    http::access_log::Served,
    telemetry::metrics::{Run, TicketRequest},
};

/// In an answer's extensions: there is nothing to answer with.
#[derive(Clone, Copy, Debug)]
pub struct NoAnswer;

/// Middleware: counts a request by its route, never by its path.
pub async fn count(State(state): State<Arc<TicketState>>, request: Request, next: Next) -> Response {
    let since = Instant::now();
    let tickets = &state.metrics.tickets;
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(REST, MatchedPath::as_str);
    let run = match route {
        TRIAGE => Some(Run::Triage),
        ANSWER => Some(Run::Answer),
        _ => None,
    };
    let running = run.map(|run| tickets.begin(run));
    let mut response = next.run(request).await;
    drop(running);
    let (status, elapsed) = (response.status(), since.elapsed());
    if let Some(run) = run {
        let outcome = match response.extensions_mut().remove::<NoAnswer>() {
            Some(NoAnswer) => "no_answer",
            None if status.is_success() => "success",
            None => "error",
        };
        tickets.ended(run, outcome, elapsed);
    }
    let route = if route == REST { "unmatched" } else { route };
    tickets.answered(&TicketRequest { method: method.as_str(), route, status: status.as_u16(), elapsed });
    let extensions = response.extensions_mut();
    if extensions.get::<Served>().is_none() {
        extensions.insert(Served { service: SERVICE, error: None });
    }
    response
}
