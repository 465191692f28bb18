//! How busy each site is: figures of this process over the recent past, in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Issued challenges fade with this time constant: the figure follows a surge within a minute.
const RATE_FADES: Duration = Duration::from_secs(60);

/// Verifications fade with this time constant: longer, since they are fewer.
const RATIO_FADES: Duration = Duration::from_secs(600);

/// Solve times that a median is taken of; older ones than [`SOLVES_LAST`] are left out.
const SOLVES: usize = 64;

/// Fewer solve times say nothing: one client could set the figure.
const SOLVES_LEAST: usize = 5;

/// How long a solve time counts.
const SOLVES_LAST: Duration = Duration::from_secs(600);

/// A reported solve time above this is a device that slept, milliseconds.
const LONGEST_SOLVE: f64 = 3_600_000.0;

/// Sites that are followed; beyond, the one longest untouched is forgotten.
const MAX_SITES: usize = 1024;

/// Whether a client may have worked this long, milliseconds.
#[must_use]
pub fn is_solve_time(ms: f64) -> bool {
    (0.0..=LONGEST_SOLVE).contains(&ms)
}

/// Figures of one site over the recent past, each decaying with time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Challenges issued a minute.
    pub issued_per_minute: f64,
    /// Share of verifications that failed, 0 to 1.
    pub failure_ratio: f64,
    /// Median of the solve times that clients reported, milliseconds; none before there are a few.
    pub solve_time_ms: Option<f64>,
    /// Median cost of the challenges that those times belong to.
    pub solve_cost: Option<f64>,
}

/// A count that fades: one more now, `1/e` of it after the time constant.
#[derive(Clone, Copy)]
struct Fading {
    value: f64,
    at: Instant,
}

impl Fading {
    fn new(at: Instant) -> Self {
        Self { value: 0.0, at }
    }

    fn at(self, now: Instant, constant: Duration) -> f64 {
        let age = now.saturating_duration_since(self.at).as_secs_f64();
        self.value * (-age / constant.as_secs_f64()).exp()
    }

    fn add(&mut self, now: Instant, constant: Duration) {
        *self = Self { value: self.at(now, constant) + 1.0, at: now };
    }
}

struct Solve {
    at: Instant,
    ms: f64,
    cost: Option<u32>,
}

struct Site {
    touched: Instant,
    issued: Fading,
    verified: Fading,
    failed: Fading,
    solves: VecDeque<Solve>,
}

impl Site {
    fn new(now: Instant) -> Self {
        let nothing = Fading::new(now);
        Self { touched: now, issued: nothing, verified: nothing, failed: nothing, solves: VecDeque::new() }
    }

    fn load(&self, now: Instant) -> Load {
        let recent =
            || self.solves.iter().filter(|solve| now.saturating_duration_since(solve.at) < SOLVES_LAST);
        let known = recent().count() >= SOLVES_LEAST;
        let verified = self.verified.at(now, RATIO_FADES);
        Load {
            issued_per_minute: self.issued.at(now, RATE_FADES) * 60.0 / RATE_FADES.as_secs_f64(),
            // Below one whole verification the ratio fades with it.
            failure_ratio: (self.failed.at(now, RATIO_FADES) / verified.max(1.0)).clamp(0.0, 1.0),
            solve_time_ms: known.then(|| median(recent().map(|solve| solve.ms).collect())).flatten(),
            solve_cost: known
                .then(|| median(recent().filter_map(|solve| solve.cost).map(f64::from).collect()))
                .flatten(),
        }
    }
}

/// The figures of all sites.
#[derive(Default)]
pub(super) struct Loads {
    sites: Mutex<HashMap<String, Site>>,
}

impl Loads {
    pub(super) fn load(&self, site: &str, now: Instant) -> Load {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.get(site).map(|site| site.load(now)).unwrap_or_default()
    }

    pub(super) fn issued(&self, site: &str, now: Instant) {
        self.update(site, now, |site| site.issued.add(now, RATE_FADES));
    }

    pub(super) fn verified(
        &self,
        site: &str,
        ok: bool,
        solve_ms: Option<f64>,
        cost: Option<u32>,
        now: Instant,
    ) {
        self.update(site, now, |site| {
            site.verified.add(now, RATIO_FADES);
            if !ok {
                site.failed.add(now, RATIO_FADES);
                return;
            }
            if let Some(ms) = solve_ms.filter(|ms| is_solve_time(*ms)) {
                if site.solves.len() >= SOLVES {
                    site.solves.pop_front();
                }
                site.solves.push_back(Solve { at: now, ms, cost });
            }
        });
    }

    fn update(&self, name: &str, now: Instant, change: impl FnOnce(&mut Site)) {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        if !sites.contains_key(name) && sites.len() >= MAX_SITES {
            let oldest = sites.iter().min_by_key(|(_, site)| site.touched).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                sites.remove(&oldest);
            }
        }
        let site = sites.entry(name.to_owned()).or_insert_with(|| Site::new(now));
        site.touched = now;
        change(site);
    }
}

/// The middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *values.get(values.len() / 2 - 1)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_site_is_idle() {
        assert_eq!(Loads::default().load("shop", Instant::now()), Load::default());
    }

    #[test]
    fn the_rate_is_a_minutes_and_fades() {
        let (loads, start) = (Loads::default(), Instant::now());
        let mut now = start;
        // Five minutes of one challenge a second.
        for second in 1..=300 {
            now = start + Duration::from_secs(second);
            loads.issued("shop", now);
        }
        let rate = loads.load("shop", now).issued_per_minute;
        assert!((55.0..65.0).contains(&rate), "{rate}");
        let later = loads.load("shop", now + Duration::from_secs(600)).issued_per_minute;
        assert!(later < 0.01, "{later}");
    }

    #[test]
    fn the_ratio_is_the_share_that_failed() {
        let (loads, now) = (Loads::default(), Instant::now());
        for ok in [true, false, true, true] {
            loads.verified("shop", ok, None, None, now);
        }
        assert!((loads.load("shop", now).failure_ratio - 0.25).abs() < 1e-9);
        let later = loads.load("shop", now + Duration::from_secs(3 * 3600)).failure_ratio;
        assert!(later < 0.01, "{later}");
    }

    #[test]
    fn solve_times_are_medians_of_what_is_plausible_and_recent() {
        let (loads, now) = (Loads::default(), Instant::now());
        for (ms, cost) in [
            (100.0, Some(5000)),
            (300.0, None),
            (200.0, Some(7000)),
            (f64::NAN, Some(1)),
            (-1.0, Some(1)),
            (1e300, Some(1)),
            (150.0, Some(5000)),
        ] {
            loads.verified("shop", true, Some(ms), cost, now);
        }
        assert_eq!(loads.load("shop", now), Load::default(), "four times say nothing");
        loads.verified("shop", true, Some(250.0), Some(7000), now);
        loads.verified("shop", false, Some(1.0), Some(1), now);
        let load = loads.load("shop", now);
        assert_eq!((load.solve_time_ms, load.solve_cost), (Some(200.0), Some(6000.0)));
        assert_eq!(loads.load("shop", now + SOLVES_LAST).solve_time_ms, None);
    }

    #[test]
    fn memory_is_bounded() {
        let (loads, now) = (Loads::default(), Instant::now());
        for site in 0..2 * MAX_SITES as u64 {
            loads.issued(&site.to_string(), now + Duration::from_millis(site));
        }
        for _ in 0..2 * SOLVES {
            loads.verified("shop", true, Some(1.0), None, now + Duration::from_secs(60));
        }
        let sites = loads.sites.lock().unwrap();
        assert_eq!(sites.len(), MAX_SITES);
        assert_eq!(sites["shop"].solves.len(), SOLVES);
    }
}
