//! Cost of a challenge: the visit ladder, and the `auto` policy on top of it.

use crate::algorithm::Algorithm;
use crate::error::Error;
use crate::host::{Host, Load, Visits};
use crate::policy::{AutoPolicy, Client, LadderStep, Site};

/// Cost for clients on the site's allow-list: a challenge with almost no work.
pub const ALLOW_LISTED_COST: u32 = 1;

/// Number of costs that `auto` picks from, so that challenges minted in idle time are likely to fit. More steps
/// follow the target more closely, fewer are prepared better.
pub const AUTO_STEPS: u32 = 16;

/// Visits of one network that double the cost. Fewer slow down scripts sooner, more spare offices that share one
/// address.
pub const DOUBLING_VISITS: f64 = 16.0;

/// Challenges a minute at one site that double the cost: about a third of a busy portal's peak. Lower reacts to
/// smaller floods, higher ignores campaigns.
pub const DOUBLING_ISSUED_PER_MINUTE: f64 = 600.0;

/// Factor on the cost when the last verification of every client failed, proportional below that. Honest clients rarely
/// fail, so this may be steep.
pub const ALL_FAILING_FACTOR: f64 = 4.0;

/// Returns the cost of the next challenge for `client`, after `visits` before this one.
pub fn cost(
    host: &dyn Host,
    site: &Site,
    client: &Client,
    visits: &Visits,
    algorithm: Option<Algorithm>,
) -> Result<u32, Error> {
    let possible = |cost| algorithm.map_or(cost, |algorithm| algorithm.possible_cost(cost));
    if client.allow_listed {
        return Ok(possible(ALLOW_LISTED_COST));
    }
    let floor = ladder(&site.difficulty.ladder, visits.client);
    let cost = match &site.difficulty.auto {
        Some(policy) => auto(policy, floor, visits, &host.load(&site.key)?),
        None => floor.ok_or_else(|| {
            Error::Internal(format!("difficulty of site {} has no step for the first visit", site.key))
        })?,
    };
    Ok(possible(cost))
}

/// Returns the ladder's cost after `visits` visits before this one: of the entries whose `min_visits - 1 <= visits`,
/// the one with the greatest `min_visits`.
pub fn ladder(steps: &[LadderStep], visits: u64) -> Option<u32> {
    let fits = |step: &&LadderStep| u64::from(step.min_visits.saturating_sub(1)) <= visits;
    steps.iter().filter(fits).max_by_key(|step| step.min_visits).map(|step| step.cost)
}

/// Returns the cost under `auto`. If clients have reported solve times it starts from the cost that took
/// `target_solve_ms`, else from `min_cost`; then pressure raises it. The result is one of the policy's steps and
/// never below `floor`, not even if `floor` is above `max_cost`.
pub fn auto(policy: &AutoPolicy, floor: Option<u32>, visits: &Visits, load: &Load) -> u32 {
    let measured = match (load.solve_time_ms, load.solve_cost) {
        (Some(time), Some(cost)) if time > 0.0 && cost > 0.0 => {
            Some(f64::from(policy.target_solve_ms) * cost / time)
        }
        _ => None,
    };
    let quiet = measured.unwrap_or_else(|| policy.min_cost.into());
    // Bounded before the pressure applies: clients that report absurd times must not switch it off.
    let (least, most) = bounds(policy);
    let wanted = quiet.clamp(least, most) * pressure(visits, load);
    let steps = steps(policy);
    let nearest = |a: &&u32, b: &&u32| distance(**a, wanted).total_cmp(&distance(**b, wanted));
    let wanted = steps.iter().min_by(nearest).copied().unwrap_or(policy.min_cost);
    let floor = floor.unwrap_or(0);
    let floor = steps.iter().copied().find(|&step| step >= floor).unwrap_or(floor);
    wanted.max(floor)
}

/// Returns the factor on the cost compared with quiet times, at least 1.
fn pressure(visits: &Visits, load: &Load) -> f64 {
    let network = 1.0 + visits.client as f64 / DOUBLING_VISITS;
    let site = 1.0 + load.issued_per_minute.max(0.0) / DOUBLING_ISSUED_PER_MINUTE;
    let failures = 1.0 + (ALL_FAILING_FACTOR - 1.0) * load.failure_ratio.clamp(0.0, 1.0);
    network * site * failures
}

/// Returns the policy's costs: geometric from `min_cost` to `max_cost`, ascending.
fn steps(policy: &AutoPolicy) -> Vec<u32> {
    let (least, most) = bounds(policy);
    let ratio = most / least;
    let at = |step| (least * ratio.powf(f64::from(step) / f64::from(AUTO_STEPS - 1))).round();
    let mut steps: Vec<u32> = (0..AUTO_STEPS).map(|step| at(step) as u32).collect();
    steps.dedup();
    steps
}

fn bounds(policy: &AutoPolicy) -> (f64, f64) {
    let least = policy.min_cost.max(1);
    (least.into(), policy.max_cost.max(least).into())
}

/// Returns the distance of two costs as a ratio.
fn distance(step: u32, wanted: f64) -> f64 {
    (f64::from(step) / wanted).ln().abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: AutoPolicy = AutoPolicy { target_solve_ms: 500, min_cost: 1000, max_cost: 64_000 };

    fn visits(client: u64) -> Visits {
        Visits { client, site: client }
    }

    fn measured(solve_time_ms: f64, solve_cost: f64) -> Load {
        Load { solve_time_ms: Some(solve_time_ms), solve_cost: Some(solve_cost), ..Load::default() }
    }

    #[test]
    fn ladder_takes_the_greatest_step_that_fits() {
        let step = |min_visits, cost| LadderStep { min_visits, cost };
        let steps = [step(4, 3000), step(1, 1000), step(3, 2000)];
        for (before, expected) in [(0, 1000), (1, 1000), (2, 2000), (3, 3000), (8, 3000), (u64::MAX, 3000)] {
            assert_eq!(ladder(&steps, before), Some(expected), "{before}");
        }
        assert_eq!(ladder(&[step(0, 7)], 0), Some(7));
        assert_eq!(ladder(&[step(10, 7)], 8), None);
        assert_eq!(ladder(&[step(10, 7)], 9), Some(7));
        assert_eq!(ladder(&[], 5), None);
    }

    #[test]
    fn auto_meets_the_target_in_quiet_times() {
        // 4000 took 250 ms, so 500 ms want 8000; the steps are a factor of 64^(1/15) apart.
        let cost = auto(&POLICY, None, &visits(0), &measured(250.0, 4000.0));
        assert!((7000..=9200).contains(&cost), "{cost}");
        assert_eq!(auto(&POLICY, None, &visits(0), &Load::default()), 1000);
    }

    #[test]
    fn auto_stays_inside_its_bounds() {
        for time in [0.0, 1e-9, 1.0, 1e3, 1e300, f64::INFINITY, f64::NAN] {
            for solve_cost in [0.0, 1.0, 1e9, f64::NAN] {
                for before in [0, 10, u64::MAX] {
                    let load =
                        Load { issued_per_minute: 1e12, failure_ratio: 2.0, ..measured(time, solve_cost) };
                    let cost = auto(&POLICY, None, &visits(before), &load);
                    assert!((1000..=64_000).contains(&cost), "{time} {solve_cost} {before}: {cost}");
                }
            }
        }
    }

    #[test]
    fn auto_rises_with_each_kind_of_pressure() {
        let quiet = measured(500.0, 2000.0);
        let base = auto(&POLICY, None, &visits(0), &quiet);
        assert!(auto(&POLICY, None, &visits(32), &quiet) > base);
        assert!(auto(&POLICY, None, &visits(0), &Load { issued_per_minute: 1200.0, ..quiet }) > base);
        assert!(auto(&POLICY, None, &visits(0), &Load { failure_ratio: 0.9, ..quiet }) > base);
        // Reports of endless solve times do not switch the pressure off.
        let slow = Load { issued_per_minute: 6000.0, ..measured(1e12, 1000.0) };
        assert!(auto(&POLICY, None, &visits(0), &slow) > 8000);
    }

    #[test]
    fn auto_uses_at_most_sixteen_costs() {
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..5000 {
            seen.insert(auto(&POLICY, Some(n * 10), &visits(n.into()), &measured(500.0, 2000.0)));
        }
        assert!(seen.len() <= AUTO_STEPS as usize, "{seen:?}");
        let narrow = AutoPolicy { min_cost: 3, max_cost: 5, ..POLICY };
        assert_eq!(steps(&narrow), [3, 4, 5]);
        let odd = AutoPolicy { min_cost: 0, max_cost: 0, ..POLICY };
        assert_eq!(steps(&odd), [1]);
    }

    #[test]
    fn ladder_is_a_floor_under_auto() {
        let quiet = Load::default();
        assert!(auto(&POLICY, Some(5000), &visits(0), &quiet) >= 5000);
        assert_eq!(auto(&POLICY, Some(100), &visits(0), &quiet), 1000);
        assert_eq!(auto(&POLICY, Some(100_000), &visits(0), &quiet), 100_000);
    }
}
