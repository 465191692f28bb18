//! Figures of the ticket service, under the names that dashboards of the replaced service know. Paths are route
//! templates.

use std::{
    fmt,
    time::{Duration, Instant},
};

use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

use super::http::method_label;
use crate::telemetry::{catalog, series::Series};

/// The states of `zammad_ai_status`; the host serves in the two in the middle only.
const STATES: [&str; 4] = ["startup", "ready", "active", "shutdown"];

/// How a run to sort a ticket may end.
const TRIAGE_OUTCOMES: [&str; 2] = ["success", "error"];
/// How a run to answer a ticket may end.
const ANSWER_OUTCOMES: [&str; 3] = ["success", "no_answer", "error"];

/// What a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Run {
    Triage,
    Answer,
}

/// An answered request.
#[derive(Clone, Copy, Debug)]
pub struct TicketRequest<'a> {
    /// The method as the client sent it.
    pub method: &'a str,
    /// The route's template, or `unmatched`.
    pub route: &'a str,
    /// The answer's status.
    pub status: u16,
    /// From the request's head to the answer's.
    pub elapsed: Duration,
}

/// Figures of the ticket service.
pub struct Tickets {
    requests: Series<IntCounter, 3>,
    request_time: Series<Histogram, 3>,
    triage_time: Series<Histogram, 1>,
    triages: Gauge,
    answer_time: Series<Histogram, 1>,
    answers: Gauge,
    status: Series<Gauge, 1>,
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

impl Tickets {
    pub(super) fn register(registry: &Registry) -> Result<Self> {
        let gauge = |family| Series::<Gauge, 0>::register(family, registry).map(|series| series.get([]));
        let tickets = Self {
            requests: Series::register(&catalog::TICKET_REQUESTS, registry)?,
            request_time: Series::register(&catalog::TICKET_REQUEST_TIME, registry)?,
            triage_time: Series::register(&catalog::TRIAGE_TIME, registry)?,
            triages: gauge(&catalog::TRIAGES)?,
            answer_time: Series::register(&catalog::ANSWER_TIME, registry)?,
            answers: gauge(&catalog::ANSWERS)?,
            status: Series::register(&catalog::TICKET_STATUS, registry)?,
        };
        for outcome in TRIAGE_OUTCOMES {
            tickets.triage_time.get([outcome]);
        }
        for outcome in ANSWER_OUTCOMES {
            tickets.answer_time.get([outcome]);
        }
        tickets.show("startup");
        Ok(tickets)
    }

    /// The service answers from now on.
    pub fn ready(&self) {
        self.show("ready");
    }

    /// Counts an answered request.
    pub fn answered(&self, request: &TicketRequest<'_>) {
        let (method, status) = (method_label(request.method), request.status.to_string());
        let labels = [method, request.route, &status];
        self.requests.get(labels).inc();
        self.request_time.get(labels).observe(request.elapsed.as_secs_f64());
    }

    /// Counts a run as in progress until it ends or is dropped. A request that is refused unread is none.
    pub fn begin(&self, run: Run) -> Running<'_> {
        self.gauge(run).inc();
        self.show("active");
        Running { tickets: self, run, since: Instant::now() }
    }

    fn gauge(&self, run: Run) -> &Gauge {
        match run {
            Run::Triage => &self.triages,
            Run::Answer => &self.answers,
        }
    }

    fn show(&self, state: &str) {
        for known in STATES {
            self.status.get([known]).set(f64::from(u8::from(known == state)));
        }
    }
}

/// A run in progress. One that is dropped before it ended was left by its caller, and has no outcome.
#[derive(Debug)]
#[must_use]
pub struct Running<'a> {
    tickets: &'a Tickets,
    run: Run,
    since: Instant,
}

impl Running<'_> {
    /// The run has ended with `success`, `no_answer` or `error`.
    pub fn end(self, outcome: &str) {
        let times = match self.run {
            Run::Triage => &self.tickets.triage_time,
            Run::Answer => &self.tickets.answer_time,
        };
        times.get([outcome]).observe(self.since.elapsed().as_secs_f64());
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.tickets.gauge(self.run).dec();
        if self.tickets.triages.get() + self.tickets.answers.get() < 1.0 {
            self.tickets.ready();
        }
    }
}
