//! How long a client worked, as far as its word can be believed.

use std::time::Duration;

use super::world::{Policy, Verdict};
use crate::storage;

/// A challenge says in whole seconds when it was issued.
const ROUNDING: Duration = Duration::from_secs(1);

/// The time that the client reports, milliseconds: none when it cannot be one, and never longer than the challenge has
/// been out by the host's clock.
pub(super) fn solve_time(verdict: &Verdict, policy: &Policy, now: Duration) -> Option<f64> {
    let reported = verdict.reported_time_ms.filter(|time| storage::is_solve_time(*time))?;
    let issued = verdict.expires_at.map(|at| at.saturating_sub(policy.timeout_seconds.into()));
    let out = issued.map(|issued| now.saturating_sub(Duration::from_secs(issued)) + ROUNDING);
    Some(out.map_or(reported, |out| reported.min(out.as_secs_f64() * 1000.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::captcha::Site, keys::MasterKey, services::captcha::site::ServedSite};

    const TIMEOUT: u64 = 300;
    const ISSUED: u64 = 1_700_000_000;

    /// What is believed of a challenge that was issued this long ago.
    fn believed(reported: Option<f64>, expires_at: Option<u64>, ago_ms: u64) -> Option<f64> {
        let timeout = Duration::from_secs(TIMEOUT);
        let site = ServedSite::new("shop", &Site::default(), timeout, &[MasterKey::new("key")]);
        let verdict =
            Verdict { rejected: None, cost: Some(1), reported_time_ms: reported, expires_at, action: None };
        solve_time(&verdict, &site.policy, Duration::from_secs(ISSUED) + Duration::from_millis(ago_ms))
    }

    #[test]
    fn nobody_worked_longer_than_the_challenge_was_out() {
        let expires_at = Some(ISSUED + TIMEOUT);
        assert_eq!(believed(Some(2500.0), expires_at, 4000), Some(2500.0));
        assert_eq!(believed(Some(60_000.0), expires_at, 4000), Some(5000.0));
        assert_eq!(believed(Some(60_000.0), expires_at, 0), Some(1000.0));
        assert_eq!(believed(Some(60_000.0), None, 0), Some(60_000.0), "nothing is known of the challenge");
        assert_eq!(believed(None, expires_at, 4000), None);
    }

    #[test]
    fn what_is_no_time_is_ignored() {
        for reported in [1e300, 1e12, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(believed(Some(reported), Some(ISSUED + TIMEOUT), 4000), None, "{reported}");
        }
    }
}
