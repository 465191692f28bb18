//! The criteria of automatic rollbacks.

use bulkhead_config::rollout::Rollout;
use bulkhead_runtime::slots::CallCounts;

/// Returns why a version must be rolled back, if its calls are worse than those of `stable` by more than the
/// margin.
pub(super) fn rollback_reason(fresh: CallCounts, stable: CallCounts, rollout: &Rollout) -> Option<String> {
    if fresh.calls < rollout.min_calls {
        return None;
    }
    let margin = f64::from(rollout.margin_percent);
    let kinds = [
        ("failed", fresh.failure_percent(), stable.failure_percent()),
        ("ended with an error", fresh.error_percent(), stable.error_percent()),
    ];
    let worse = kinds.into_iter().find(|(_, fresh, stable)| *fresh > stable + margin);
    worse.map(|(what, percent, other)| {
        format!(
            "{percent:.1} % of its {} calls {what}, against {other:.1} % of the other version's; the margin is {margin} %",
            fresh.calls
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const RULES: Rollout = Rollout { margin_percent: 5, min_calls: 20, ..Rollout::DEFAULT };

    const fn counts(calls: u64, failures: u64, errors: u64) -> CallCounts {
        CallCounts { calls, failures, errors }
    }

    #[test]
    fn version_beyond_the_margin_is_rolled_back() {
        for (fresh, stable, goes) in [
            (counts(20, 1, 0), counts(0, 0, 0), false),
            (counts(20, 2, 0), counts(0, 0, 0), true),
            (counts(100, 10, 0), counts(100, 5, 0), false),
            (counts(100, 11, 0), counts(100, 5, 0), true),
            (counts(100, 0, 60), counts(1000, 0, 600), false),
            (counts(100, 0, 60), counts(1000, 0, 100), true),
            (counts(100, 0, 0), counts(100, 100, 100), false),
        ] {
            assert_eq!(rollback_reason(fresh, stable, &RULES).is_some(), goes, "{fresh:?} beside {stable:?}");
        }
    }

    #[test]
    fn few_calls_cause_no_rollback() {
        assert_eq!(rollback_reason(counts(19, 19, 0), counts(0, 0, 0), &RULES), None);
    }

    #[test]
    fn rollback_reason_names_both_rates() {
        let reason = rollback_reason(counts(40, 20, 0), counts(200, 1, 0), &RULES).unwrap();
        assert_eq!(
            reason,
            "50.0 % of its 40 calls failed, against 0.5 % of the other version's; the margin is 5 %"
        );
    }
}
