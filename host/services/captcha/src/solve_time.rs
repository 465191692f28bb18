//! How long a client worked, as far as its word can be believed.

use std::time::Duration;

use super::{site::ServedSite, world::Verdict};

/// A challenge says in whole seconds when it was issued.
const ROUNDING: Duration = Duration::from_secs(1);

/// The time that the client reports, milliseconds: none when it cannot be one, since no browser is so fast, and never
/// longer than the challenge has been out by the host's clock.
pub(super) fn solve_time(verdict: &Verdict, site: &ServedSite, now: Duration) -> Option<f64> {
    let reported = verdict.reported_time_ms.filter(|time| bulkhead_ledger::is_solve_time(*time))?;
    let least = verdict.cost.map_or(Duration::ZERO, |cost| site.config.least_solve_time(cost));
    if reported < least.as_secs_f64() * 1000.0 {
        return None;
    }
    let issued = verdict.expires_at.map(|at| at.saturating_sub(site.policy.timeout_seconds.into()));
    let out = issued.map(|issued| now.saturating_sub(Duration::from_secs(issued)) + ROUNDING);
    Some(out.map_or(reported, |out| reported.min(out.as_secs_f64() * 1000.0)))
}

#[cfg(test)]
mod tests {
    use bulkhead_runtime::keys::{KeyRing, MasterKey};

    use super::*;
    use crate::config::Site;

    const TIMEOUT: u64 = 300;
    const ISSUED: u64 = 1_700_000_000;

    /// What is believed of a challenge of this cost that was issued this long ago.
    fn believed_at(
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

    fn believed(reported: Option<f64>, expires_at: Option<u64>, ago_ms: u64) -> Option<f64> {
        believed_at(Some(1), reported, expires_at, ago_ms)
    }

    #[test]
    fn times_that_no_browser_reaches_are_ignored() {
        let expires_at = Some(ISSUED + TIMEOUT);
        for (cost, reported, is_believed) in
            [(5000, 1.0, false), (5000, 140.0, true), (100_000, 50.0, false), (100_000, 2800.0, true)]
        {
            let believed = believed_at(Some(cost), Some(reported), expires_at, 4000);
            assert_eq!(believed, is_believed.then_some(reported), "{reported} ms for {cost}");
        }
        assert_eq!(believed_at(None, Some(1.0), expires_at, 4000), Some(1.0), "the cost is not known");
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
