//! Keeps figures of each site's load over the recent past, for this process and in bounded memory.

use super::pace::Pace;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Issued challenges fade with this time constant: the figure follows a surge within a minute.
const RATE_FADES: Duration = Duration::from_secs(60);

/// Number of clients whose last votes make a figure; votes older than [`VOTES_LAST`] are left out.
const VOTERS: usize = 64;

/// Least number of clients for a figure: with fewer, one client could set it.
const VOTERS_LEAST: usize = 5;

/// How long a vote counts.
const VOTES_LAST: Duration = Duration::from_secs(600);

/// Longest accepted solve time, milliseconds; above it the device slept.
const LONGEST_SOLVE: f64 = 3_600_000.0;

/// Most sites; beyond, the least recently used one is removed.
const MAX_SITES: usize = 1024;

/// Returns whether a solve time, milliseconds, is plausible.
#[must_use]
pub fn is_solve_time(ms: f64) -> bool {
    (0.0..=LONGEST_SOLVE).contains(&ms)
}

/// Figures of one site over the recent past.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Challenges issued a minute.
    pub issued_per_minute: f64,
    /// Share of clients whose last verification failed, 0 to 1; of five clients at least.
    pub failure_ratio: f64,
    /// Median of the solve times that clients reported, milliseconds; none before there are a few. Where a site aims at
    /// a solve time, this follows the median slowly enough that the cost changes by half a minute at most.
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

/// A client's work on one challenge.
#[derive(Clone, Copy, Debug)]
pub struct Solve {
    /// How long it worked, milliseconds.
    pub ms: f64,
    /// The challenge's cost.
    pub cost: Option<u32>,
    /// Milliseconds for each unit of cost that the site takes clients to need before it knows better; none where it
    /// does not aim at a solve time.
    pub expected_pace: Option<f64>,
}

/// The last vote of each of the latest clients.
struct Votes<T>(VecDeque<Vote<T>>);

struct Vote<T> {
    voter: u64,
    at: Instant,
    value: T,
}

impl<T: Copy> Votes<T> {
    /// Takes a client's vote in place of its former one.
    fn cast(&mut self, voter: u64, value: T, at: Instant) {
        self.0.retain(|vote| vote.voter != voter);
        if self.0.len() >= VOTERS {
            self.0.pop_front();
        }
        self.0.push_back(Vote { voter, at, value });
    }

    /// Returns the votes that count, the latest last.
    fn at(&mut self, now: Instant) -> Vec<T> {
        self.0.retain(|vote| now.saturating_duration_since(vote.at) < VOTES_LAST);
        self.0.iter().map(|vote| vote.value).collect()
    }
}

struct Site {
    touched: Instant,
    issued: Fading,
    failures: Votes<bool>,
    solves: Votes<Solve>,
    pace: Option<Pace>,
}

impl Site {
    fn new(now: Instant) -> Self {
        Self {
            touched: now,
            issued: Fading::new(now),
            failures: Votes(VecDeque::new()),
            solves: Votes(VecDeque::new()),
            pace: None,
        }
    }

    fn load(&mut self, now: Instant) -> Load {
        let (solve_time_ms, solve_cost) = self.solve(now).unzip();
        Load {
            issued_per_minute: self.issued.at(now, RATE_FADES) * 60.0 / RATE_FADES.as_secs_f64(),
            failure_ratio: self.failure_ratio(now),
            solve_time_ms,
            solve_cost: solve_cost.flatten(),
        }
    }

    fn failure_ratio(&mut self, now: Instant) -> f64 {
        let failures = self.failures.at(now);
        let failed = failures.iter().filter(|failed| **failed).count();
        failed as f64 / failures.len().max(VOTERS_LEAST) as f64
    }

    /// Returns the median time and cost of recent solutions, the time at the site's pace.
    fn solve(&mut self, now: Instant) -> Option<(f64, Option<f64>)> {
        let solves = self.solves.at(now);
        if solves.len() < VOTERS_LEAST {
            self.pace = None;
            return None;
        }
        let ms = median(solves.iter().map(|solve| solve.ms).collect())?;
        let cost = median(solves.iter().filter_map(|solve| solve.cost).map(f64::from).collect());
        let expected = solves.iter().filter_map(|solve| solve.expected_pace).next_back();
        let (Some(cost), Some(expected)) = (cost, expected) else { return Some((ms, cost)) };
        let pace = self.pace.get_or_insert_with(|| Pace::new(expected, now));
        Some((pace.follow(ms / cost, now) * cost, Some(cost)))
    }
}

/// The figures of all sites.
#[derive(Default)]
pub(super) struct Loads {
    sites: Mutex<HashMap<String, Site>>,
    /// Hashes clients, so that addresses are not stored.
    voters: RandomState,
}

impl Loads {
    pub(super) fn load(&self, site: &str, now: Instant) -> Load {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.get_mut(site).map(|site| site.load(now)).unwrap_or_default()
    }

    pub(super) fn issued(&self, site: &str, now: Instant) {
        self.update(site, now, |site| site.issued.add(now, RATE_FADES));
    }

    /// Records a verification. Only a client's last one counts, so that one client cannot move a figure further.
    pub(super) fn verified(&self, site: &str, client: IpAddr, ok: bool, solve: Option<Solve>, now: Instant) {
        let voter = self.voters.hash_one(network(client));
        self.update(site, now, |site| {
            site.failures.cast(voter, !ok, now);
            if let Some(solve) = solve.filter(|solve| ok && is_solve_time(solve.ms)) {
                site.solves.cast(voter, solve, now);
            }
        });
    }

    fn update(&self, name: &str, now: Instant, change: impl FnOnce(&mut Site)) {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = sites.get_mut(name) {
            site.touched = now;
            return change(site);
        }
        if sites.len() >= MAX_SITES {
            let oldest = sites.iter().min_by_key(|(_, site)| site.touched).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                sites.remove(&oldest);
            }
        }
        change(sites.entry(name.to_owned()).or_insert_with(|| Site::new(now)));
    }
}

/// Returns the address, or its /64, which belongs to one client.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address => address,
    }
}

/// Returns the middle value, or the mean of the two in the middle.
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

    /// Returns the address of the client of this number.
    fn address(client: u32) -> IpAddr {
        IpAddr::V4(client.into())
    }

    fn solve(ms: f64, cost: Option<u32>) -> Option<Solve> {
        Some(Solve { ms, cost, expected_pace: None })
    }

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
    fn failure_ratio_counts_each_client_once() {
        let (loads, now) = (Loads::default(), Instant::now());
        let ratio = |at| loads.load("shop", at).failure_ratio;
        for _ in 0..100 {
            loads.verified("shop", address(0), false, None, now);
        }
        assert!((ratio(now) - 0.2).abs() < 1e-9, "one of five clients at least: {}", ratio(now));
        for client in 1..10 {
            loads.verified("shop", address(client), client > 4, None, now);
        }
        assert!((ratio(now) - 0.5).abs() < 1e-9, "{}", ratio(now));
        loads.verified("shop", address(0), true, None, now);
        assert!((ratio(now) - 0.4).abs() < 1e-9, "the last one counts: {}", ratio(now));
        assert!(ratio(now + VOTES_LAST).abs() < 1e-9);
    }

    #[test]
    fn solve_time_is_median_of_recent_times() {
        let (loads, now) = (Loads::default(), Instant::now());
        for (client, (ms, cost)) in (0..).zip([
            (100.0, Some(5000)),
            (300.0, None),
            (200.0, Some(7000)),
            (f64::NAN, Some(1)),
            (-1.0, Some(1)),
            (1e300, Some(1)),
            (150.0, Some(5000)),
        ]) {
            loads.verified("shop", address(client), true, solve(ms, cost), now);
        }
        assert_eq!(loads.load("shop", now), Load::default(), "four times say nothing");
        loads.verified("shop", address(10), true, solve(250.0, Some(7000)), now);
        loads.verified("shop", address(11), false, solve(1.0, Some(1)), now);
        let load = loads.load("shop", now);
        assert_eq!((load.solve_time_ms, load.solve_cost), (Some(200.0), Some(6000.0)));
        assert_eq!(loads.load("shop", now + VOTES_LAST).solve_time_ms, None);
    }

    #[test]
    fn a_client_has_one_vote() {
        let (loads, now) = (Loads::default(), Instant::now());
        for client in 0..9 {
            loads.verified("shop", address(client), true, solve(500.0, Some(1000)), now);
        }
        for ms in 1..200 {
            loads.verified("shop", address(100), true, solve(f64::from(ms), Some(1000)), now);
        }
        // All addresses of a /64 are one client, and an IPv4 address in the form of IPv6 is that IPv4 address.
        for host in 0..200 {
            let address = IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8 << 96) + host));
            loads.verified("shop", address, true, solve(1.0, Some(1000)), now);
        }
        let mapped = "::ffff:0.0.0.100".parse().unwrap();
        loads.verified("shop", mapped, true, solve(1.0, None), now);
        assert_eq!(loads.load("shop", now).solve_time_ms, Some(500.0));
        assert_eq!(loads.sites.lock().unwrap()["shop"].solves.0.len(), 11);
    }

    #[test]
    fn pace_follows_the_median_slowly() {
        let (loads, start) = (Loads::default(), Instant::now());
        let vote = |client, at| {
            let solve = Solve { ms: 1.0, cost: Some(1000), expected_pace: Some(0.5) };
            loads.verified("shop", address(client), true, Some(solve), at);
        };
        let cost_for_500_ms = |at| {
            let load = loads.load("shop", at);
            500.0 / (load.solve_time_ms.unwrap() / load.solve_cost.unwrap())
        };
        (0..50).for_each(|client| vote(client, start));
        let mut before = cost_for_500_ms(start);
        assert!((before - 1000.0).abs() < 1.0, "{before}: as expected, whatever is reported");
        for minute in 1..10 {
            let now = start + Duration::from_secs(60 * minute);
            let cost = cost_for_500_ms(now);
            assert!(cost > before && cost < 1.51 * before, "{cost} after {before} in minute {minute}");
            before = cost;
        }
    }

    #[test]
    fn memory_is_bounded() {
        let (loads, now) = (Loads::default(), Instant::now());
        for site in 0..2 * MAX_SITES as u64 {
            loads.issued(&site.to_string(), now + Duration::from_millis(site));
        }
        for client in 0..2 * VOTERS as u32 {
            loads.verified("shop", address(client), true, solve(1.0, None), now + Duration::from_secs(60));
        }
        let sites = loads.sites.lock().unwrap();
        assert_eq!(sites.len(), MAX_SITES);
        let votes = (sites["shop"].solves.0.len(), sites["shop"].failures.0.len());
        assert_eq!(votes, (VOTERS, VOTERS));
    }
}
