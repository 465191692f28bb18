//! Metrics of the ticket service, under the names of the replaced service. Label values of paths are route templates.

use std::{
    fmt,
    time::{Duration, Instant},
};

use bulkhead_telemetry::{
    MetricSet,
    family::{Family, Kind, families},
    metrics::method_label,
    series::Series,
};
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

/// Histogram bounds for tickets, seconds: from the decision of a classifier to the longest deadline, which a language model
/// may nearly use.
const TICKET_TIMES: &[f64] = &[
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0,
    120.0, 600.0,
];

families! {
    TICKET_REQUESTS: Kind::Counter, "zammad_ai_http_requests_total" ["method", "path", "status"] "",
        "Requests to the ticket service, by route.";
    TICKET_REQUEST_TIME: Kind::Histogram(TICKET_TIMES), "zammad_ai_http_request_duration_seconds"
        ["method", "path", "status"] "seconds",
        "Time to answer a request to the ticket service.";
    TRIAGE_TIME: Kind::Histogram(TICKET_TIMES), "zammad_ai_triage_run_duration_seconds" ["outcome"] "seconds",
        "Time to sort a ticket.";
    TRIAGES: Kind::Gauge, "zammad_ai_triage_runs_in_progress" [] "",
        "Tickets being sorted.";
    ANSWER_TIME: Kind::Histogram(TICKET_TIMES), "zammad_ai_answer_run_duration_seconds" ["outcome"] "seconds",
        "Time to answer a ticket.";
    ANSWERS: Kind::Gauge, "zammad_ai_answer_runs_in_progress" [] "",
        "Tickets being answered.";
    TICKET_STATUS: Kind::Gauge, "zammad_ai_status" ["zammad_ai_status"] "",
        "1 for what the ticket service is doing.";
}

/// The states of `zammad_ai_status`. The host serves only in `ready` and `active`.
const STATES: [&str; 4] = ["startup", "ready", "active", "shutdown"];

/// Outcomes of triage.
const TRIAGE_OUTCOMES: [&str; 2] = ["success", "error"];
/// Outcomes of answering.
const ANSWER_OUTCOMES: [&str; 3] = ["success", "no_answer", "error"];

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TicketRun {
    Triage,
    Answer,
}

/// An answered request, for its metrics.
#[derive(Clone, Copy, Debug)]
pub struct TicketRequest<'a> {
    /// The method as the client sent it.
    pub method: &'a str,
    /// The route's template, or `unmatched`.
    pub route: &'a str,
    /// The status of the response.
    pub status: u16,
    /// Time from the request's head to the response's head.
    pub elapsed: Duration,
}

/// Metrics of the ticket service.
pub struct TicketMetrics {
    requests: Series<IntCounter, 3>,
    request_time: Series<Histogram, 3>,
    triage_time: Series<Histogram, 1>,
    triages: Gauge,
    answer_time: Series<Histogram, 1>,
    answers: Gauge,
    status: Series<Gauge, 1>,
}

impl fmt::Debug for TicketMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for TicketMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        let gauge = |family| Series::<Gauge, 0>::register(family, registry).map(|series| series.get([]));
        let tickets = Self {
            requests: Series::register(&TICKET_REQUESTS, registry)?,
            request_time: Series::register(&TICKET_REQUEST_TIME, registry)?,
            triage_time: Series::register(&TRIAGE_TIME, registry)?,
            triages: gauge(&TRIAGES)?,
            answer_time: Series::register(&ANSWER_TIME, registry)?,
            answers: gauge(&ANSWERS)?,
            status: Series::register(&TICKET_STATUS, registry)?,
        };
        for outcome in TRIAGE_OUTCOMES {
            tickets.triage_time.get([outcome]);
        }
        for outcome in ANSWER_OUTCOMES {
            tickets.answer_time.get([outcome]);
        }
        tickets.set_state("startup");
        Ok(tickets)
    }
}

impl TicketMetrics {
    /// Sets the state to `ready`.
    pub fn ready(&self) {
        self.set_state("ready");
    }

    /// Counts an answered request.
    pub fn record_request(&self, request: &TicketRequest<'_>) {
        let (method, status) = (method_label(request.method), request.status.to_string());
        let labels = [method, request.route, &status];
        self.requests.with(labels, IntCounter::inc);
        self.request_time.with(labels, |times| times.observe(request.elapsed.as_secs_f64()));
    }

    /// Counts a run as in progress until it ends or is dropped. Rejected requests do not begin a run.
    pub fn begin(&self, run: TicketRun) -> RunGuard<'_> {
        self.gauge(run).inc();
        self.set_state("active");
        RunGuard { tickets: self, run, since: Instant::now() }
    }

    fn gauge(&self, run: TicketRun) -> &Gauge {
        match run {
            TicketRun::Triage => &self.triages,
            TicketRun::Answer => &self.answers,
        }
    }

    /// Sets the state.
    fn set_state(&self, state: &str) {
        for known in STATES {
            self.status.get([known]).set(f64::from(u8::from(known == state)));
        }
    }
}

/// A run in progress. A run that is dropped without an outcome was left by its caller.
#[derive(Debug)]
#[must_use]
pub struct RunGuard<'a> {
    tickets: &'a TicketMetrics,
    run: TicketRun,
    since: Instant,
}

impl RunGuard<'_> {
    /// Records the outcome `success`, `no_answer` or `error`.
    pub fn end(self, outcome: &str) {
        let times = match self.run {
            TicketRun::Triage => &self.tickets.triage_time,
            TicketRun::Answer => &self.tickets.answer_time,
        };
        times.get([outcome]).observe(self.since.elapsed().as_secs_f64());
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.tickets.gauge(self.run).dec();
        if self.tickets.triages.get() + self.tickets.answers.get() < 1.0 {
            self.tickets.ready();
        }
    }
}
