use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use super::Ending;

/// First time without calls.
const FIRST: Duration = Duration::from_secs(1);
/// Longest: short enough that whoever mends the cause sees it soon.
const LONGEST: Duration = Duration::from_secs(60);

/// Keeps calls from a version that only traps: after so many traps in a row the circuit is open, and one call at a
/// time is let through as a probe, each after a longer wait, until one does not trap. Calls that are ended at a limit
/// neither count nor close it: their inputs may be one client's, and the limit itself bounds what they cost.
#[derive(Debug)]
pub struct Circuit {
    /// Traps in a row that open it; 0 keeps it closed for ever.
    threshold: u32,
    failures: AtomicU32,
    is_open: AtomicBool,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    /// The next probe.
    until: Instant,
    wait: Duration,
    /// A probe has been let through and has not been heard of.
    probing: bool,
}

impl Circuit {
    /// A closed circuit.
    pub const fn new(threshold: u32) -> Self {
        let (failures, is_open) = (AtomicU32::new(0), AtomicBool::new(false));
        Self { threshold, failures, is_open, open: Mutex::new(None) }
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Lets a call through, or says how long to wait.
    ///
    /// # Errors
    /// The time until the next probe.
    pub fn admit(&self, now: Instant) -> Result<(), Duration> {
        if !self.is_open() {
            return Ok(());
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *open {
            Some(open) if now < open.until => Err(open.until - now),
            Some(open) => {
                // If nothing is heard of this probe, there is another after the same wait.
                (open.probing, open.until) = (true, now + open.wait);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Hears how a call ended; true when that has opened the circuit.
    pub fn note(&self, ending: Ending, now: Instant) -> bool {
        match ending {
            Ending::Broken => {}
            // Waiting for others and costly inputs are no fault, and no sign of health.
            Ending::Limited | Ending::Late => return false,
            Ending::Answer | Ending::Error => {
                self.close();
                return false;
            }
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if self.threshold == 0 || failures < self.threshold {
            return false;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *open {
            Some(open) => {
                // Else it is a call that began before the circuit opened.
                if open.probing {
                    let wait = (open.wait * 2).min(LONGEST);
                    *open = Open { until: now + jittered(wait), wait, probing: false };
                }
                false
            }
            None => {
                *open = Some(Open { until: now + jittered(FIRST), wait: FIRST, probing: false });
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

/// Between a half and the whole, so that hosts do not probe together.
fn jittered(wait: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(u32::MAX);
    wait / 2 + (wait / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TICK: Duration = Duration::from_millis(1);

    fn open(now: Instant) -> Circuit {
        let circuit = Circuit::new(3);
        let opened: Vec<bool> = (0..3).map(|_| circuit.note(Ending::Broken, now)).collect();
        assert_eq!(opened, [false, false, true]);
        circuit
    }

    #[test]
    fn failures_in_a_row_open_it() {
        let now = Instant::now();
        let wait = open(now).admit(now).unwrap_err();
        assert!((FIRST / 2..=FIRST).contains(&wait), "{wait:?}");
        let circuit = Circuit::new(3);
        for _ in 0..10 {
            circuit.note(Ending::Broken, now);
            circuit.note(Ending::Broken, now);
            circuit.note(Ending::Error, now);
        }
        assert_eq!(circuit.admit(now), Ok(()), "they were not in a row");
    }

    #[test]
    fn one_probe_at_a_time_each_after_a_longer_wait() {
        let mut now = Instant::now();
        let circuit = open(now);
        let mut longest = FIRST;
        for _ in 0..10 {
            now += circuit.admit(now).unwrap_err();
            assert_eq!(circuit.admit(now), Ok(()), "the probe");
            circuit.admit(now + TICK).unwrap_err();
            circuit.note(Ending::Broken, now + TICK);
            longest = (longest * 2).min(LONGEST);
            let wait = circuit.admit(now + TICK).unwrap_err();
            assert!((longest / 2..=longest).contains(&wait), "{wait:?} of {longest:?}");
        }
        now += LONGEST * 2;
        assert_eq!(circuit.admit(now), Ok(()));
        circuit.note(Ending::Answer, now);
        assert!(!circuit.is_open());
        assert_eq!(circuit.admit(now), Ok(()));
        assert!(!circuit.note(Ending::Broken, now), "it counts from the beginning");
    }

    #[test]
    fn a_probe_that_is_never_heard_of_gives_way_to_another() {
        let now = Instant::now();
        let circuit = open(now);
        let probe = now + circuit.admit(now).unwrap_err();
        circuit.admit(probe).unwrap();
        circuit.admit(probe + TICK).unwrap_err();
        circuit.admit(probe + FIRST).unwrap();
    }

    #[test]
    fn calls_from_before_do_not_lengthen_the_wait() {
        let now = Instant::now();
        let circuit = open(now);
        for _ in 0..100 {
            circuit.note(Ending::Broken, now);
        }
        assert!(circuit.admit(now).unwrap_err() <= FIRST);
    }

    /// Else whoever sends costly inputs closes the slot for everybody, or keeps a broken one open.
    #[test]
    fn limits_neither_open_nor_close_it() {
        let (circuit, now) = (Circuit::new(3), Instant::now());
        for _ in 0..1000 {
            assert!(!circuit.note(Ending::Limited, now));
        }
        assert_eq!(circuit.admit(now), Ok(()));
        for opens in [false, false, true] {
            circuit.note(Ending::Limited, now);
            assert_eq!(circuit.note(Ending::Broken, now), opens);
        }
        circuit.note(Ending::Limited, now);
        assert!(circuit.is_open());
    }

    #[test]
    fn zero_keeps_it_closed() {
        let (circuit, now) = (Circuit::new(0), Instant::now());
        for _ in 0..1000 {
            assert!(!circuit.note(Ending::Broken, now));
        }
        assert_eq!(circuit.admit(now), Ok(()));
    }
}
