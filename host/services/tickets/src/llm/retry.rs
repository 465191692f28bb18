//! Whether and when a failed attempt is made again.

use std::time::Duration;

use crate::outbound::Fault;

/// Pause before the second attempt; doubled before each further one.
const FIRST: Duration = Duration::from_millis(250);
/// Longest pause of our own making.
const LONGEST: Duration = Duration::from_secs(5);

/// How long to wait before another attempt that has `left` at most; none where another is no use. `jitter` is 0 to 1.
///
/// Timeouts are not repeated: a model that was slow once is slow again, and is paid twice.
pub(super) fn pause(fault: &Fault, attempt: u32, left: Duration, jitter: f64) -> Option<Duration> {
    let asked = match fault {
        Fault::Connect => None,
        Fault::Status { status: 429 | 500..=599, retry_after } => *retry_after,
        Fault::Status { .. } | Fault::Timeout | Fault::Broken | Fault::TooLarge(_) => return None,
    };
    let longest = FIRST.saturating_mul(1 << attempt.min(16)).min(LONGEST);
    // Half of it is fixed, so that the pauses grow whatever the chance.
    let own = longest.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
    let pause = asked.map_or(own, |asked| asked.max(own));
    (pause < left).then_some(pause)
}

/// 0 to 1 by chance, so that callers who failed together do not return together.
pub(super) fn jitter() -> f64 {
    getrandom::u32().map_or(1.0, |drawn| f64::from(drawn) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: Duration = Duration::from_secs(20);

    fn status(status: u16, seconds: Option<u64>) -> Fault {
        Fault::Status { status, retry_after: seconds.map(Duration::from_secs) }
    }

    #[test]
    fn pauses_grow_and_have_a_bound() {
        let pauses = |jitter| [0, 1, 2, 30].map(|attempt| pause(&Fault::Connect, attempt, LEFT, jitter));
        assert_eq!(pauses(1.0), [250, 500, 1000, 5000].map(|millis| Some(Duration::from_millis(millis))));
        assert_eq!(pauses(0.0), [125, 250, 500, 2500].map(|millis| Some(Duration::from_millis(millis))));
    }

    #[test]
    fn what_the_endpoint_asks_for_is_kept_within_the_time_left() {
        assert_eq!(pause(&status(429, Some(7)), 0, LEFT, 0.5), Some(Duration::from_secs(7)));
        assert_eq!(pause(&status(503, Some(0)), 0, LEFT, 1.0), Some(Duration::from_millis(250)));
        assert_eq!(pause(&status(429, Some(20)), 0, LEFT, 0.5), None);
        assert_eq!(pause(&status(500, None), 0, Duration::from_millis(1), 1.0), None);
    }

    #[test]
    fn only_what_may_pass_is_repeated() {
        for fault in
            [status(400, None), status(401, Some(1)), status(302, None), Fault::Timeout, Fault::Broken]
        {
            assert_eq!(pause(&fault, 0, LEFT, 0.0), None, "{fault}");
        }
    }

    #[test]
    fn chance_stays_in_its_bounds() {
        assert!((0..100).all(|_| (0.0..=1.0).contains(&jitter())));
    }
}
