//! The solve time that a client reports, within plausible bounds.

use std::time::Duration;

use crate::{site::ServedSite, world::Verdict};

/// Tolerance: challenges have their time of issue in whole seconds.
const ROUNDING: Duration = Duration::from_secs(1);

/// Returns the reported solve time, milliseconds: `None` when no browser is so fast, and at most the age of the
/// challenge by the host's clock.
pub(crate) fn solve_time(verdict: &Verdict, site: &ServedSite, now: Duration) -> Option<f64> {
    let reported = verdict.reported_time_ms.filter(|time| bulkhead_ledger::is_solve_time(*time))?;
    let least = verdict.cost.map_or(Duration::ZERO, |cost| site.config.min_solve_time(cost));
    if reported < least.as_secs_f64() * 1000.0 {
        return None;
    }
    let issued = verdict.expires_at.map(|at| at.saturating_sub(site.policy.timeout_seconds.into()));
    let age = issued.map(|issued| now.saturating_sub(Duration::from_secs(issued)) + ROUNDING);
    Some(age.map_or(reported, |age| reported.min(age.as_secs_f64() * 1000.0)))
}

#[cfg(test)]
mod tests {
    use bulkhead_runtime::keys::{KeyRing, MasterKey};

    use super::*;
    use crate::config::Site;

    const TIMEOUT: u64 = 300;
    const ISSUED: u64 = 1_700_000_000;

    /// Returns the solve time of a challenge of this cost that was issued this long ago.
    fn accepted_at(
        cost: Option<u32>,
        reported: Option<f64>,
        expires_at: Option<u64>,
        ago_ms: u64,
    ) -> Option<f64> {
        let timeout = Duration::from_secs(TIMEOUT);
        let site =
            ServedSite::new("shop", &Site::default(), timeout, &[MasterKey::new("key")], &KeyRing::default());
        let verdict = Verdict { rejected: None, cost, reported_time_ms: reported, expires_at, action: None };
        solve_time(&verdict, &site, Duration::from_secs(ISSUED) + Duration::from_millis(ago_ms))
    }

    fn accepted(reported: Option<f64>, expires_at: Option<u64>, ago_ms: u64) -> Option<f64> {
        accepted_at(Some(1), reported, expires_at, ago_ms)
    }

    #[test]
    fn implausibly_short_times_are_ignored() {
        let expires_at = Some(ISSUED + TIMEOUT);
        for (cost, reported, is_accepted) in
            [(5000, 1.0, false), (5000, 140.0, true), (100_000, 50.0, false), (100_000, 2800.0, true)]
        {
            let accepted = accepted_at(Some(cost), Some(reported), expires_at, 4000);
            assert_eq!(accepted, is_accepted.then_some(reported), "{reported} ms for {cost}");
        }
        assert_eq!(accepted_at(None, Some(1.0), expires_at, 4000), Some(1.0), "the cost is not known");
    }

    #[test]
    fn times_are_capped_at_challenge_age() {
        let expires_at = Some(ISSUED + TIMEOUT);
        assert_eq!(accepted(Some(2500.0), expires_at, 4000), Some(2500.0));
        assert_eq!(accepted(Some(60_000.0), expires_at, 4000), Some(5000.0));
        assert_eq!(accepted(Some(60_000.0), expires_at, 0), Some(1000.0));
        assert_eq!(accepted(Some(60_000.0), None, 0), Some(60_000.0), "nothing is known of the challenge");
        assert_eq!(accepted(None, expires_at, 4000), None);
    }

    #[test]
    fn invalid_times_are_ignored() {
        for reported in [1e300, 1e12, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(accepted(Some(reported), Some(ISSUED + TIMEOUT), 4000), None, "{reported}");
        }
    }
}
