//! A circuit breaker for the endpoint: while it fails, tickets do not wait for it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::outbound::OutboundError;

/// Number of failed calls in a row that open the circuit. A timeout opens it at once: each costs a ticket seconds.
const FAILURES: u32 = 3;
/// Time from the opening to the first call that tries the endpoint again, doubled after each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum pause.
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// The state of the endpoint as its calls found it.
#[derive(Debug, Default)]
pub(super) struct EndpointCircuit(Mutex<CircuitState>);

#[derive(Debug, Default)]
struct CircuitState {
    /// Failed calls in a row.
    failures: u32,
    /// Set while the circuit is open.
    open: Option<OpenCircuit>,
}

#[derive(Debug)]
struct OpenCircuit {
    /// When a call may try the endpoint.
    until: Instant,
    pause: Duration,
    /// How the endpoint failed.
    why: String,
}

/// A permission for one call, whose result is to be recorded.
#[derive(Debug)]
pub(super) struct CircuitPass<'a> {
    circuit: &'a EndpointCircuit,
    /// Whether the circuit is open, and the call finds out if the endpoint works again.
    tries: bool,
}

impl EndpointCircuit {
    /// Returns why no call may be made now, for the log.
    pub(super) fn refusal(&self, now: Instant) -> Option<String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.as_ref().and_then(|open| open.refusal(now))
    }

    /// Permits a call. While the circuit is open, one call a pause may try the endpoint.
    ///
    /// # Errors
    /// With the text of [`EndpointCircuit::refusal`].
    pub(super) fn pass(&self, now: Instant) -> Result<CircuitPass<'_>, String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tries = false;
        if let Some(open) = &mut state.open {
            if let Some(refusal) = open.refusal(now) {
                return Err(refusal);
            }
            open.until = now + open.pause;
            tries = true;
        }
        Ok(CircuitPass { circuit: self, tries })
    }
}

impl OpenCircuit {
    fn refusal(&self, now: Instant) -> Option<String> {
        let left = self.until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some(format!("it is not asked for {} s, since {}", left.as_secs() + 1, self.why))
    }
}

impl CircuitPass<'_> {
    /// Records that the endpoint answered.
    pub(super) fn succeed(self) {
        *self.circuit.0.lock().unwrap_or_else(PoisonError::into_inner) = CircuitState::default();
    }

    /// Records that the call failed. An error that is about the request counts as an answer.
    pub(super) fn fail(self, error: &OutboundError, now: Instant) {
        let (weight, requested) = match error {
            OutboundError::Timeout => (FAILURES, None),
            OutboundError::Status { status: 429, retry_after: Some(requested) } => {
                (FAILURES, Some(*requested))
            }
            OutboundError::Connect
            | OutboundError::Broken
            | OutboundError::Status { status: 300..=399 | 401 | 403 | 404 | 408 | 429 | 500..=599, .. } => {
                (1, None)
            }
            OutboundError::Status { .. } | OutboundError::TooLarge(_) => return self.succeed(),
        };
        let mut state = self.circuit.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Calls that began before the circuit opened say nothing new.
        if state.open.is_some() && !self.tries {
            return;
        }
        state.failures = state.failures.saturating_add(weight);
        if state.failures < FAILURES {
            return;
        }
        let pause = state.open.as_ref().map_or(FIRST_PAUSE, |open| open.pause * 2).min(MAX_PAUSE);
        let wait = requested.unwrap_or(pause).min(MAX_PAUSE);
        state.open = Some(OpenCircuit { until: now + wait, pause, why: error.to_string() });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn status(status: u16, seconds: Option<u64>) -> OutboundError {
        OutboundError::Status { status, retry_after: seconds.map(Duration::from_secs) }
    }

    /// Fails calls with `errors`, and returns after how many seconds the next one is permitted.
    fn wait_after(errors: &[OutboundError]) -> Option<u64> {
        let (circuit, now) = (EndpointCircuit::default(), Instant::now());
        for error in errors {
            circuit.pass(now).unwrap().fail(error, now);
        }
        circuit.refusal(now)?;
        (0..=600).find(|seconds| circuit.refusal(now + Duration::from_secs(*seconds)).is_none())
    }

    #[test]
    fn timeout_opens_the_circuit_at_once() {
        assert_eq!(wait_after(&[OutboundError::Timeout]), Some(30));
        assert_eq!(wait_after(&[status(429, Some(90))]), Some(90));
        assert_eq!(wait_after(&[status(429, Some(3600))]), Some(300));
    }

    #[test]
    fn other_failures_open_it_together() {
        for error in [OutboundError::Connect, OutboundError::Broken, status(401, None), status(503, Some(1))]
        {
            let errors = [error.clone(), error.clone(), error];
            assert_eq!(wait_after(&errors[..2]), None);
            assert_eq!(wait_after(&errors), Some(30), "{errors:?}");
        }
    }

    #[test]
    fn rejected_requests_leave_it_closed() {
        let [bad, large] = [status(400, None), OutboundError::TooLarge(1)];
        assert_eq!(wait_after(&[bad.clone(), bad.clone(), bad, large]), None);
        let failing = status(500, None);
        assert_eq!(wait_after(&[failing.clone(), failing.clone(), status(422, None), failing]), None);
    }

    #[test]
    fn one_call_a_pause_tries_the_endpoint() {
        let (circuit, start) = (EndpointCircuit::default(), Instant::now());
        let late = circuit.pass(start).unwrap();
        circuit.pass(start).unwrap().fail(&OutboundError::Timeout, start);
        late.fail(&OutboundError::Timeout, start);
        let refused = circuit.pass(start + Duration::from_secs(1)).unwrap_err();
        assert_eq!(refused, "it is not asked for 30 s, since it does not answer in time");
        let again = start + Duration::from_secs(30);
        let tries = circuit.pass(again).unwrap();
        assert!(circuit.pass(again).is_err());
        tries.fail(&OutboundError::Connect, again);
        assert!(circuit.pass(again + Duration::from_secs(59)).is_err(), "the pause is doubled");
        circuit.pass(again + Duration::from_secs(60)).unwrap().succeed();
        assert!(circuit.pass(again).is_ok());
    }
}
