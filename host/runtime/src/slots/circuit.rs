//! The circuit breaker of a version.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use super::CallResult;

/// Wait before the first probe.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait before a probe: short enough that a fixed cause shows soon.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A circuit breaker that opens after a number of consecutive traps. While it is open, one call at a time runs as a
/// probe, each after a longer wait, until one does not trap. Calls that exceed a limit neither open nor close it: their
/// inputs may come from one client, and the limit itself bounds their cost.
#[derive(Debug)]
pub struct CircuitBreaker {
    /// Consecutive traps that open it; 0 keeps it closed for ever.
    threshold: u32,
    failures: AtomicU32,
    is_open: AtomicBool,
    open: Mutex<Option<OpenState>>,
}

#[derive(Debug)]
struct OpenState {
    /// The time of the next probe.
    until: Instant,
    wait: Duration,
    /// Whether a probe runs whose result is not known.
    probing: bool,
}

impl CircuitBreaker {
    /// Returns a closed circuit breaker.
    pub const fn new(threshold: u32) -> Self {
        let (failures, is_open) = (AtomicU32::new(0), AtomicBool::new(false));
        Self { threshold, failures, is_open, open: Mutex::new(None) }
    }

    /// Returns whether it is open.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Admits a call while the circuit is closed, and one probe at a time while it is open.
    ///
    /// # Errors
    /// With the time until the next probe.
    pub fn admit(&self, now: Instant) -> Result<(), Duration> {
        if !self.is_open() {
            return Ok(());
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *open {
            Some(open) if now < open.until => Err(open.until - now),
            Some(open) => {
                // Without a result of this probe, the next one follows after the same wait.
                (open.probing, open.until) = (true, now + open.wait);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Records the result of a call. Returns true when it has opened the circuit. Reads the clock only where it may.
    pub fn record(&self, result: CallResult, clock: impl FnOnce() -> Instant) -> bool {
        match result {
            CallResult::Trapped => {}
            // Slow backends and costly inputs prove neither a fault nor health.
            CallResult::LimitExceeded | CallResult::TimedOut => return false,
            CallResult::Answered | CallResult::GuestError => {
                self.close();
                return false;
            }
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if self.threshold == 0 || failures < self.threshold {
            return false;
        }
        let now = clock();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *open {
            Some(open) => {
                // Otherwise the call began before the circuit opened.
                if open.probing {
                    let wait = (open.wait * 2).min(LONGEST_WAIT);
                    *open = OpenState { until: now + jittered(wait), wait, probing: false };
                }
                false
            }
            None => {
                *open =
                    Some(OpenState { until: now + jittered(FIRST_WAIT), wait: FIRST_WAIT, probing: false });
                self.is_open.store(true, Ordering::Release);
                true
            }
        }
    }

    fn close(&self) {
        if self.failures.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.failures.store(0, Ordering::Relaxed);
        if self.is_open() {
            *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
            self.is_open.store(false, Ordering::Release);
        }
    }
}

/// Returns a random time between half of `wait` and `wait`, so that hosts do not probe together.
fn jittered(wait: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(u32::MAX);
    wait / 2 + (wait / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TICK: Duration = Duration::from_millis(1);

    fn open(now: Instant) -> CircuitBreaker {
        let circuit = CircuitBreaker::new(3);
        let opened: Vec<bool> = (0..3).map(|_| circuit.record(CallResult::Trapped, || now)).collect();
        assert_eq!(opened, [false, false, true]);
        circuit
    }

    #[test]
    fn consecutive_traps_open_circuit() {
        let now = Instant::now();
        let wait = open(now).admit(now).unwrap_err();
        assert!((FIRST_WAIT / 2..=FIRST_WAIT).contains(&wait), "{wait:?}");
        let circuit = CircuitBreaker::new(3);
        for _ in 0..10 {
            circuit.record(CallResult::Trapped, || now);
            circuit.record(CallResult::Trapped, || now);
            circuit.record(CallResult::GuestError, || now);
        }
        assert_eq!(circuit.admit(now), Ok(()), "they were not consecutive");
    }

    #[test]
    fn open_circuit_doubles_wait_between_probes() {
        let mut now = Instant::now();
        let circuit = open(now);
        let mut longest = FIRST_WAIT;
        for _ in 0..10 {
            now += circuit.admit(now).unwrap_err();
            assert_eq!(circuit.admit(now), Ok(()), "the probe");
            circuit.admit(now + TICK).unwrap_err();
            circuit.record(CallResult::Trapped, || now + TICK);
            longest = (longest * 2).min(LONGEST_WAIT);
            let wait = circuit.admit(now + TICK).unwrap_err();
            assert!((longest / 2..=longest).contains(&wait), "{wait:?} of {longest:?}");
        }
        now += LONGEST_WAIT * 2;
        assert_eq!(circuit.admit(now), Ok(()));
        circuit.record(CallResult::Answered, || now);
        assert!(!circuit.is_open());
        assert_eq!(circuit.admit(now), Ok(()));
        assert!(!circuit.record(CallResult::Trapped, || now), "the count starts at zero");
    }

    #[test]
    fn probe_without_result_is_replaced() {
        let now = Instant::now();
        let circuit = open(now);
        let probe = now + circuit.admit(now).unwrap_err();
        circuit.admit(probe).unwrap();
        circuit.admit(probe + TICK).unwrap_err();
        circuit.admit(probe + FIRST_WAIT).unwrap();
    }

    #[test]
    fn earlier_calls_do_not_lengthen_wait() {
        let now = Instant::now();
        let circuit = open(now);
        for _ in 0..100 {
            circuit.record(CallResult::Trapped, || now);
        }
        assert!(circuit.admit(now).unwrap_err() <= FIRST_WAIT);
    }

    /// Otherwise one client with costly inputs could open the circuit for all clients, or keep it closed for a broken
    /// version.
    #[test]
    fn exceeded_limits_neither_open_nor_close() {
        let (circuit, now) = (CircuitBreaker::new(3), Instant::now());
        for _ in 0..1000 {
            assert!(!circuit.record(CallResult::LimitExceeded, || now));
        }
        assert_eq!(circuit.admit(now), Ok(()));
        for opens in [false, false, true] {
            circuit.record(CallResult::LimitExceeded, || now);
            assert_eq!(circuit.record(CallResult::Trapped, || now), opens);
        }
        circuit.record(CallResult::LimitExceeded, || now);
        assert!(circuit.is_open());
    }

    #[test]
    fn threshold_zero_keeps_circuit_closed() {
        let (circuit, now) = (CircuitBreaker::new(0), Instant::now());
        for _ in 0..1000 {
            assert!(!circuit.record(CallResult::Trapped, || now));
        }
        assert_eq!(circuit.admit(now), Ok(()));
    }
}
