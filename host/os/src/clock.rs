//! Provides the host's clock: the time of day and elapsed time, both of which a test can move.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A clock. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct HostClock(Option<Arc<Shift>>);

/// Offsets that are added to the operating system's times, milliseconds.
#[derive(Debug, Default)]
struct Shift {
    time_of_day: AtomicI64,
    elapsed: AtomicU64,
}

/// Moves a [`HostClock`] that was made with it.
#[derive(Clone, Debug)]
pub struct ClockControl(Arc<Shift>);

impl HostClock {
    /// Returns the operating system's clock.
    pub const fn system() -> Self {
        Self(None)
    }

    /// Returns a clock that shows the operating system's time until its control moves it.
    pub fn movable() -> (Self, ClockControl) {
        let shift = Arc::new(Shift::default());
        (Self(Some(Arc::clone(&shift))), ClockControl(shift))
    }

    /// Returns the time of day, which may go backward.
    pub fn now(&self) -> SystemTime {
        let Some(shift) = &self.0 else { return SystemTime::now() };
        let millis = shift.time_of_day.load(SeqCst);
        let by = Duration::from_millis(millis.unsigned_abs());
        let moved =
            if millis < 0 { SystemTime::now().checked_sub(by) } else { SystemTime::now().checked_add(by) };
        moved.unwrap_or(UNIX_EPOCH)
    }

    /// Returns the time of day since the Unix epoch; zero before it.
    pub fn unix(&self) -> Duration {
        self.now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Returns the time of day in Unix milliseconds.
    pub fn millis(&self) -> i64 {
        i64::try_from(self.unix().as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns a point of elapsed time, which never goes backward and ignores corrections of the time of day.
    pub fn instant(&self) -> Instant {
        let by = self.0.as_ref().map_or(0, |shift| shift.elapsed.load(SeqCst));
        Instant::now() + Duration::from_millis(by)
    }
}

impl ClockControl {
    /// Advances the time of day and elapsed time.
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
    fn control_moves_its_clock_only() {
        let ((clock, control), other) = (HostClock::movable(), HostClock::system());
        let (copy, since) = (clock.clone(), clock.instant());
        control.set_ahead(2 * HOUR);
        control.set_back(3 * HOUR);
        let behind = other.unix().saturating_sub(copy.unix());
        assert!((HOUR..HOUR + HOUR / 60).contains(&(behind + Duration::from_secs(1))), "{behind:?}");
        assert!(clock.instant() - since < HOUR, "a correction is no elapsed time");
        control.advance(HOUR);
        assert!(clock.instant() - since >= HOUR);
        assert!(clock.unix().abs_diff(other.unix()) < HOUR / 60);
    }

    #[test]
    fn time_before_the_epoch_is_zero() {
        let (clock, control) = HostClock::movable();
        control.set_back(100 * 365 * 24 * HOUR);
        assert_eq!((clock.unix(), clock.millis()), (Duration::ZERO, 0));
    }
}
