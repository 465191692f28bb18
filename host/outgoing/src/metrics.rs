//! Metrics of outgoing requests, by slot.

use std::{fmt, time::Duration};

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::{
    MetricSet,
    bounds::REMOTE_TIMES,
    family::{Family, Kind, families},
    series::{Series, SlotSeries},
};
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

families! {
    OUTGOING_CALLS: Kind::Counter, "bulkhead_outgoing_requests_total" ["slot", "outcome"] "",
        "Outgoing requests of guests by outcome.";
    OUTGOING_TIME: Kind::Histogram(REMOTE_TIMES), "bulkhead_outgoing_request_seconds" ["slot"] "seconds",
        "Time of an outgoing request until the head of its response, waiting and connecting included.";
    OUTGOING_BYTES: Kind::Counter, "bulkhead_outgoing_bytes_total" ["slot", "direction"] "bytes",
        "Bytes of bodies of outgoing requests, and of their responses.";
    OUTGOING_IN_FLIGHT: Kind::Gauge, "bulkhead_outgoing_in_flight" ["slot"] "",
        "Outgoing requests running or waiting now.";
}

/// How an outgoing request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutgoingOutcome {
    /// It got a response, whatever its status; the guest may have left the body unread.
    Ok,
    /// Its origin may not be called.
    Denied,
    /// Its name leads to an address that may not be called.
    AddressRefused,
    /// It cannot be sent as it is, or the guest ended its body with an error.
    InvalidRequest,
    /// No call was free in time.
    Overloaded,
    /// The address of its name cannot be looked up.
    Lookup,
    /// There is no connection.
    Connect,
    /// There is no TLS on the connection.
    Tls,
    /// The response did not begin or go on in time.
    Timeout,
    /// A body is too large.
    TooLarge,
    /// The response is incomplete, or is no HTTP.
    BadAnswer,
    /// The guest left before the response began.
    Cancelled,
}

impl OutgoingOutcome {
    const ALL: [Self; 12] = [
        Self::Ok,
        Self::Denied,
        Self::AddressRefused,
        Self::InvalidRequest,
        Self::Overloaded,
        Self::Lookup,
        Self::Connect,
        Self::Tls,
        Self::Timeout,
        Self::TooLarge,
        Self::BadAnswer,
        Self::Cancelled,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Denied => "denied",
            Self::AddressRefused => "address-refused",
            Self::InvalidRequest => "invalid-request",
            Self::Overloaded => "overloaded",
            Self::Lookup => "lookup",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::TooLarge => "too-large",
            Self::BadAnswer => "bad-answer",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Metrics of outgoing requests, by slot.
pub struct OutgoingMetrics {
    calls: Series<IntCounter, 2>,
    time: Series<Histogram, 1>,
    bytes: Series<IntCounter, 2>,
    in_flight: Series<Gauge, 1>,
}

impl fmt::Debug for OutgoingMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingMetrics").finish_non_exhaustive()
    }
}

impl MetricSet for OutgoingMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            calls: Series::register(&OUTGOING_CALLS, registry)?,
            time: Series::register(&OUTGOING_TIME, registry)?,
            bytes: Series::register(&OUTGOING_BYTES, registry)?,
            in_flight: Series::register(&OUTGOING_IN_FLIGHT, registry)?,
        })
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        vec![&self.calls, &self.time, &self.bytes, &self.in_flight]
    }
}

impl OutgoingMetrics {
    /// Returns the metrics of a slot, which begin at zero.
    pub fn slot(&self, id: SlotId) -> SlotOutgoingMetrics {
        let slot = id.as_str();
        for outcome in OutgoingOutcome::ALL {
            self.calls.get([slot, outcome.as_str()]);
        }
        SlotOutgoingMetrics {
            slot,
            calls: self.calls.clone(),
            time: self.time.get([slot]),
            sent: self.bytes.get([slot, "sent"]),
            received: self.bytes.get([slot, "received"]),
            in_flight: self.in_flight.get([slot]),
        }
    }
}

/// Metrics of a slot's outgoing requests. Clones share the series.
#[derive(Clone)]
pub struct SlotOutgoingMetrics {
    slot: &'static str,
    calls: Series<IntCounter, 2>,
    time: Histogram,
    sent: IntCounter,
    received: IntCounter,
    in_flight: Gauge,
}

impl fmt::Debug for SlotOutgoingMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotOutgoingMetrics").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl SlotOutgoingMetrics {
    pub(crate) fn record_begin(&self) {
        self.in_flight.inc();
    }

    pub(crate) fn record_end(&self, outcome: OutgoingOutcome) {
        self.in_flight.dec();
        self.calls.get([self.slot, outcome.as_str()]).inc();
    }

    pub(crate) fn record_head(&self, elapsed: Duration) {
        self.time.observe(elapsed.as_secs_f64());
    }

    pub(crate) fn record_sent(&self, bytes: u64) {
        self.sent.inc_by(bytes);
    }

    pub(crate) fn record_received(&self, bytes: u64) {
        self.received.inc_by(bytes);
    }

    /// Returns how many requests ended with an outcome.
    #[cfg(test)]
    pub(crate) fn ended(&self, outcome: OutgoingOutcome) -> u64 {
        self.calls.get([self.slot, outcome.as_str()]).get()
    }
}
