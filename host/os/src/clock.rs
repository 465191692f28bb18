//! The host's clock: the time of day and elapsed time, both of which a test can move.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Gives the time. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct HostClock(Option<Arc<Shift>>);

/// What is added to the operating system's times, milliseconds.
#[derive(Debug, Default)]
struct Shift {
    time_of_day: AtomicI64,
    elapsed: AtomicU64,
}

/// Moves a [`HostClock`] that was made with it.
#[derive(Clone, Debug)]
pub struct ClockHands(Arc<Shift>);

impl HostClock {
    /// The operating system's clock.
    pub const fn system() -> Self {
        Self(None)
    }

    /// A clock that shows the operating system's time until its hands are moved.
    pub fn movable() -> (Self, ClockHands) {
        let shift = Arc::new(Shift::default());
        (Self(Some(Arc::clone(&shift))), ClockHands(shift))
    }

    /// The time of day. It may go backward.
    pub fn now(&self) -> SystemTime {
        let Some(shift) = &self.0 else { return SystemTime::now() };
        let millis = shift.time_of_day.load(SeqCst);
        let by = Duration::from_millis(millis.unsigned_abs());
        let moved =
            if millis < 0 { SystemTime::now().checked_sub(by) } else { SystemTime::now().checked_add(by) };
        moved.unwrap_or(UNIX_EPOCH)
    }

    /// The time of day since the Unix epoch; zero before it.
    pub fn unix(&self) -> Duration {
        self.now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// The time of day in Unix milliseconds.
    pub fn millis(&self) -> i64 {
        i64::try_from(self.unix().as_millis()).unwrap_or(i64::MAX)
    }

    /// A point of elapsed time, which never goes backward and which no correction of the time of day moves.
    pub fn instant(&self) -> Instant {
        let by = self.0.as_ref().map_or(0, |shift| shift.elapsed.load(SeqCst));
        Instant::now() + Duration::from_millis(by)
    }
}

impl ClockHands {
    /// Lets time pass: the time of day and elapsed time both go forward.
    pub fn advance(&self, by: Duration) {
        self.0.elapsed.fetch_add(by.as_millis() as u64, SeqCst);
        self.set_ahead(by);
    }

    /// Sets the time of day ahead, as a wrong correction does.
    pub fn set_ahead(&self, by: Duration) {
        self.0.time_of_day.fetch_add(by.as_millis() as i64, SeqCst);
    }

    /// Sets the time of day back.
    pub fn set_back(&self, by: Duration) {
        self.0.time_of_day.fetch_sub(by.as_millis() as i64, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn hands_move_their_clock_and_no_other() {
        let ((clock, hands), other) = (HostClock::movable(), HostClock::system());
        let (copy, since) = (clock.clone(), clock.instant());
        hands.set_ahead(2 * HOUR);
        hands.set_back(3 * HOUR);
        let behind = other.unix().saturating_sub(copy.unix());
        assert!((HOUR..HOUR + HOUR / 60).contains(&(behind + Duration::from_secs(1))), "{behind:?}");
        assert!(clock.instant() - since < HOUR, "a correction is no elapsed time");
        hands.advance(HOUR);
        assert!(clock.instant() - since >= HOUR);
        assert!(clock.unix().abs_diff(other.unix()) < HOUR / 60);
    }

    #[test]
    fn time_before_the_epoch_is_zero() {
        let (clock, hands) = HostClock::movable();
        hands.set_back(100 * 365 * 24 * HOUR);
        assert_eq!((clock.unix(), clock.millis()), (Duration::ZERO, 0));
    }
}
