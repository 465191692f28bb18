//! Decides whether and when a failed attempt is repeated.

use std::time::Duration;

use crate::outbound::OutboundError;

/// Pause before the second attempt, doubled before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Maximum pause, unless the endpoint asks for a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Returns the pause before another attempt within the time `left`, or `None` where another attempt would not help. The
/// `jitter` is a number from 0 to 1.
///
/// Timeouts are not repeated: a slow model would be slow again, and paid twice.
pub(super) fn pause(error: &OutboundError, attempt: u32, left: Duration, jitter: f64) -> Option<Duration> {
    let requested = match error {
        OutboundError::Connect => None,
        OutboundError::Status { status: 429 | 500..=599, retry_after } => *retry_after,
        OutboundError::Status { .. }
        | OutboundError::Timeout
        | OutboundError::Broken
        | OutboundError::TooLarge(_) => return None,
    };
    let longest = FIRST_PAUSE.saturating_mul(1 << attempt.min(16)).min(MAX_PAUSE);
    // Half of it is fixed, so that pauses grow with any jitter.
    let own = longest.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
    let pause = requested.map_or(own, |requested| requested.max(own));
    (pause < left).then_some(pause)
}

/// Returns a random number from 0 to 1, so that callers which failed together do not retry together.
pub(super) fn jitter() -> f64 {
    getrandom::u32().map_or(1.0, |drawn| f64::from(drawn) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: Duration = Duration::from_secs(20);

    fn status(status: u16, seconds: Option<u64>) -> OutboundError {
        OutboundError::Status { status, retry_after: seconds.map(Duration::from_secs) }
    }

    #[test]
    fn pauses_grow_to_a_maximum() {
        let pauses =
            |jitter| [0, 1, 2, 30].map(|attempt| pause(&OutboundError::Connect, attempt, LEFT, jitter));
        assert_eq!(pauses(1.0), [250, 500, 1000, 5000].map(|millis| Some(Duration::from_millis(millis))));
        assert_eq!(pauses(0.0), [125, 250, 500, 2500].map(|millis| Some(Duration::from_millis(millis))));
    }

    #[test]
    fn retry_after_is_respected_within_the_deadline() {
        assert_eq!(pause(&status(429, Some(7)), 0, LEFT, 0.5), Some(Duration::from_secs(7)));
        assert_eq!(pause(&status(503, Some(0)), 0, LEFT, 1.0), Some(Duration::from_millis(250)));
        assert_eq!(pause(&status(429, Some(20)), 0, LEFT, 0.5), None);
        assert_eq!(pause(&status(500, None), 0, Duration::from_millis(1), 1.0), None);
    }

    #[test]
    fn permanent_errors_are_not_repeated() {
        for error in [
            status(400, None),
            status(401, Some(1)),
            status(302, None),
            OutboundError::Timeout,
            OutboundError::Broken,
        ] {
            assert_eq!(pause(&error, 0, LEFT, 0.0), None, "{error}");
        }
    }

    #[test]
    fn jitter_is_between_0_and_1() {
        assert!((0..100).all(|_| (0.0..=1.0).contains(&jitter())));
    }
}
