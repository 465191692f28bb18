//! Tracks how long clients need for each unit of cost, as a figure that moves slowly because reports can be false.

use std::time::{Duration, Instant};

/// The figure changes by this factor a minute at most. A site's cost follows it: a flood of false reports, or a change
/// of devices, takes ten minutes from 1000 to 50,000.
const MOST_IN_A_MINUTE: f64 = 1.5;

/// Milliseconds for each unit of cost.
pub(super) struct Pace {
    value: f64,
    at: Instant,
}

impl Pace {
    /// Begins at what is expected before anything is known.
    pub(super) fn new(expected: f64, now: Instant) -> Self {
        Self { value: expected, at: now }
    }

    /// Moves toward the measured pace, as far as the time since the last move allows, and returns the new pace.
    pub(super) fn follow(&mut self, measured: f64, now: Instant) -> f64 {
        let minutes = now.saturating_duration_since(self.at).as_secs_f64() / MINUTE.as_secs_f64();
        let most = MOST_IN_A_MINUTE.powf(minutes);
        self.at = self.at.max(now);
        if measured.is_finite() && measured > 0.0 && self.value > 0.0 {
            self.value *= (measured / self.value).clamp(1.0 / most, most);
        }
        self.value
    }
}

const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_bounded_up_and_down() {
        let start = Instant::now();
        for (measured, bound) in [(1e-9, 10.0 / MOST_IN_A_MINUTE), (1e9, 10.0 * MOST_IN_A_MINUTE)] {
            let mut pace = Pace::new(10.0, start);
            assert!((pace.follow(measured, start) - 10.0).abs() < 1e-9);
            let steps = (1..=600).map(|tenth| start + Duration::from_millis(100 * tenth));
            let after = steps.map(|now| pace.follow(measured, now)).last().unwrap_or_default();
            assert!((after / bound - 1.0).abs() < 1e-6, "{after}");
        }
    }

    #[test]
    fn a_measured_pace_is_reached() {
        let start = Instant::now();
        let mut pace = Pace::new(10.0, start);
        assert!((pace.follow(12.0, start + MINUTE) - 12.0).abs() < 1e-9);
        for nonsense in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            assert!((pace.follow(nonsense, start + 9 * MINUTE) - 12.0).abs() < 1e-9, "{nonsense}");
        }
    }
}
