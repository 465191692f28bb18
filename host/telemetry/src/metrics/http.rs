//! Holds the metrics of connections and requests.

use std::{fmt, time::Duration};

use prometheus::{Gauge, IntCounter, Registry, Result};

use crate::{
    catalog,
    series::{InProgress, LongTask, Series, Summary},
};

/// Methods that get a label of their own; a client may invent others.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
/// Label of a method that is not in [`METHODS`].
const OTHER_METHOD: &str = "OTHER";
/// Label of a path that no route matches.
const UNKNOWN_ROUTE: &str = "UNKNOWN";
/// Label of a request that ended without a fault.
const NO_ERROR: &str = "none";

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// The service that owns the route.
    pub service: &'static str,
    /// The route's template, `None` when no route matches the path.
    pub route: Option<&'a str>,
    /// The method as the client sent it.
    pub method: &'a str,
    /// The answer's status.
    pub status: u16,
    /// Name of the fault inside the host that caused the answer.
    pub error: Option<&'static str>,
    /// Time from the request's head to the answer's.
    pub elapsed: Duration,
}

/// Figures of connections and requests.
pub struct Http {
    connection_errors: Series<IntCounter, 1>,
    requests: Series<IntCounter, 4>,
    server: Series<Summary, 6>,
    active: LongTask,
    /// Open connections of clients.
    pub connections: Gauge,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

impl Http {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            connection_errors: Series::register(&catalog::CONNECTION_ERRORS, registry)?,
            requests: Series::register(&catalog::HTTP_REQUESTS, registry)?,
            server: Series::register(&catalog::HTTP_SERVER, registry)?,
            active: Series::<LongTask, 0>::register(&catalog::HTTP_ACTIVE, registry)?.get([]),
            connections: Series::<Gauge, 0>::register(&catalog::CONNECTIONS, registry)?.get([]),
        })
    }

    /// Counts a request as in progress until the value is dropped.
    pub fn begin(&self) -> InProgress {
        self.active.begin()
    }

    /// Counts an answered request.
    pub fn answered(&self, request: &Answered<'_>) {
        let uri = request.route.unwrap_or(UNKNOWN_ROUTE);
        let method = method_label(request.method);
        let status = request.status.to_string();
        let error = request.error.unwrap_or(NO_ERROR);
        self.requests.with([request.service, uri, method, &status], IntCounter::inc);
        let labels = [error, error, method, outcome(request.status), &status, uri];
        self.server.with(labels, |times| times.observe(request.elapsed.as_secs_f64()));
    }

    /// Creates the counts of connections that end before a request is parsed, by reason, at zero.
    pub fn expect_connection_errors(&self, kinds: &[&'static str]) {
        for kind in kinds {
            self.connection_errors.get([kind]);
        }
    }

    /// Counts a connection that ended before a request was parsed.
    pub fn connection_error(&self, kind: &'static str) {
        self.connection_errors.get([kind]).inc();
    }
}

/// Returns the label of a method: its name, if it is one of HTTP's own. A client may invent others, and labels are
/// bounded.
pub fn method_label(method: &str) -> &'static str {
    METHODS.into_iter().find(|name| *name == method).unwrap_or(OTHER_METHOD)
}

/// Returns Spring's name for a class of statuses.
const fn outcome(status: u16) -> &'static str {
    match status {
        100..200 => "INFORMATIONAL",
        200..300 => "SUCCESS",
        300..400 => "REDIRECTION",
        400..500 => "CLIENT_ERROR",
        500..600 => "SERVER_ERROR",
        _ => "UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::exposition::Format;

    #[test]
    fn requests_are_counted_by_template() {
        let registry = Registry::new();
        let http = Http::register(&registry).unwrap();
        let request = Answered {
            service: "shop",
            route: Some("/api/v1/orders"),
            method: "POST",
            status: 200,
            error: None,
            elapsed: Duration::from_millis(250),
        };
        http.answered(&request);
        http.answered(&Answered { elapsed: Duration::from_millis(500), ..request });
        http.answered(&Answered { route: None, method: "BREW", status: 404, ..request });
        let text = Format::Text.encode(&registry.gather()).unwrap();
        let labels = "error=\"none\",exception=\"none\",method=\"POST\",outcome=\"SUCCESS\",\
             status=\"200\",uri=\"/api/v1/orders\"";
        for line in [
            format!("http_server_requests_seconds_count{{{labels}}} 2\n"),
            format!("http_server_requests_seconds_sum{{{labels}}} 0.75\n"),
            format!("http_server_requests_seconds_max{{{labels}}} 0.5\n"),
            "bulkhead_http_requests_total{method=\"OTHER\",route=\"UNKNOWN\",service=\"shop\",\
             status=\"404\"} 1\n"
                .to_owned(),
        ] {
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }
}
