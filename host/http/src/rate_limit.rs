//! Limits how often one client may do something, such as call a site's widget endpoints or send a wrong password.
//!
//! It uses the generic cell rate algorithm: a client's state is one point in time, up to which its allowance is spent.
//! A client that is silent for a whole window has all of it back, so two generations of tables, rotated once a window,
//! lose nothing that matters and need no cleanup.

use std::{
    collections::HashMap,
    mem,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The default window of an allowance.
const MINUTE: Duration = Duration::from_secs(60);

/// Clients in one generation. Beyond it generations swap early: memory stays bounded (about 3 MB for
/// both), and some clients get their allowance back too soon.
const GENERATION_CLIENTS: usize = 32_768;

/// The prefix of an IPv6 address that identifies a client, since a client has its whole /64.
const IPV6_CLIENT_BITS: u32 = 64;

/// Counts calls by client and what they are for, such as a site. Clients are kept under a MAC whose key dies with the
/// process.
pub struct RateLimiter {
    key: [u8; 32],
    /// An allowance is spent in, and comes back over, this time.
    window: Duration,
    started: Instant,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    /// When the current generation began.
    since: Duration,
    current: HashMap<u128, Duration>,
    previous: HashMap<u128, Duration>,
}

impl RateLimiter {
    /// Makes an empty limiter with allowances per minute. Fails when the operating system gives no random bytes.
    pub fn new() -> Result<Self, getrandom::Error> {
        Self::over(MINUTE)
    }

    /// Makes an empty limiter with allowances per `window`.
    pub fn over(window: Duration) -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self { key, window, started: Instant::now(), generations: Mutex::default() })
    }

    /// Returns whether a client has taken a call within the window; it may be remembered for as long again.
    pub fn has_recent_call(&self, site: &str, client: IpAddr, now: Instant) -> bool {
        let now = now.saturating_duration_since(self.started);
        let client = self.fingerprint(site, client);
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.rotate(now, self.window);
        generations.spent_until(client).is_some()
    }

    /// Takes one call out of a client's `allowance` in the window, all of which may come at once.
    /// The error is the number of seconds after which one more call fits.
    pub fn take(&self, site: &str, client: IpAddr, allowance: u32, now: Instant) -> Result<(), u32> {
        let now = now.saturating_duration_since(self.started);
        let client = self.fingerprint(site, client);
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.rotate(now, self.window);
        let Some(step) = self.window.checked_div(allowance) else {
            return Err(seconds(self.window));
        };
        let spent_until = generations.spent_until(client).unwrap_or(now).max(now) + step;
        match spent_until.checked_sub(now + self.window) {
            Some(wait) if !wait.is_zero() => Err(seconds(wait)),
            _ => {
                generations.current.insert(client, spent_until);
                Ok(())
            }
        }
    }

    /// Returns a call that was taken and does not count after all.
    pub fn refund(&self, site: &str, client: IpAddr, allowance: u32, now: Instant) {
        let now = now.saturating_duration_since(self.started);
        let client = self.fingerprint(site, client);
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.rotate(now, self.window);
        let step = self.window.checked_div(allowance);
        if let (Some(step), Some(spent_until)) = (step, generations.spent_until(client)) {
            generations.current.insert(client, spent_until.saturating_sub(step));
        }
    }

    fn fingerprint(&self, site: &str, client: IpAddr) -> u128 {
        let network = client_network(client);
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else {
            return network;
        };
        mac.update(&network.to_be_bytes());
        mac.update(site.as_bytes());
        let digest = mac.finalize().into_bytes();
        digest.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }
}

/// Returns what identifies a client: an IPv4 address, or the network of an IPv6 address.
pub(super) const fn client_network(client: IpAddr) -> u128 {
    match client.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> (128 - IPV6_CLIENT_BITS),
    }
}

impl Generations {
    fn rotate(&mut self, now: Duration, window: Duration) {
        let age = now.saturating_sub(self.since);
        if age < window && self.current.len() < GENERATION_CLIENTS {
            return;
        }
        self.previous = mem::take(&mut self.current);
        if age >= window * 2 {
            self.previous.clear();
        }
        self.since = now;
    }

    fn spent_until(&self, client: u128) -> Option<Duration> {
        self.current.get(&client).or_else(|| self.previous.get(&client)).copied()
    }
}

/// Returns whole seconds, rounded up, at least one.
fn seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn an_allowance_is_spent_and_comes_back() {
        let limiter = RateLimiter::new().unwrap();
        let at = |millis| limiter.started + Duration::from_millis(millis);
        for _ in 0..3 {
            assert_eq!(limiter.take("s", A, 3, at(0)), Ok(()));
        }
        assert_eq!(limiter.take("s", A, 3, at(0)), Err(20));
        limiter.refund("s", A, 3, at(0));
        limiter.refund("s", B, 3, at(0));
        assert_eq!(limiter.take("s", A, 3, at(0)), Ok(()));
        assert_eq!(limiter.take("s", A, 3, at(0)), Err(20));
        assert_eq!(limiter.take("s", A, 3, at(19_001)), Err(1));
        assert_eq!(limiter.take("s", A, 3, at(20_000)), Ok(()));
        assert_eq!(limiter.take("s", A, 3, at(20_000)), Err(20));
        for _ in 0..3 {
            assert_eq!(limiter.take("s", A, 3, at(500_000)), Ok(()));
        }
        assert_eq!(limiter.take("s", A, 3, at(500_000)), Err(20));
    }

    #[test]
    fn sites_and_clients_are_apart() {
        let limiter = RateLimiter::new().unwrap();
        let now = limiter.started;
        assert_eq!(limiter.take("s", A, 1, now), Ok(()));
        assert_eq!(limiter.take("t", A, 1, now), Ok(()));
        assert_eq!(limiter.take("s", B, 1, now), Ok(()));
        assert!(limiter.take("s", A, 1, now).is_err());
        assert!(limiter.take("none", A, 0, now).is_err());
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let limiter = RateLimiter::new().unwrap();
        let now = limiter.started;
        assert_eq!(limiter.take("s", "2001:db8::1".parse().unwrap(), 1, now), Ok(()));
        assert!(limiter.take("s", "2001:db8::ffff:2".parse().unwrap(), 1, now).is_err());
        assert_eq!(limiter.take("s", "2001:db8:0:1::1".parse().unwrap(), 1, now), Ok(()));
    }

    #[test]
    fn a_swap_of_generations_forgets_no_debt() {
        let limiter = RateLimiter::new().unwrap();
        let at = |seconds| limiter.started + Duration::from_secs(seconds);
        for _ in 0..6 {
            assert_eq!(limiter.take("s", A, 6, at(59)), Ok(()));
        }
        assert!(limiter.take("s", A, 6, at(61)).is_err());
    }

    #[test]
    fn another_window_has_its_own_pace() {
        let limiter = RateLimiter::over(Duration::from_secs(3600)).unwrap();
        let at = |seconds| limiter.started + Duration::from_secs(seconds);
        assert!(!limiter.has_recent_call("s", A, at(0)));
        assert_eq!(limiter.take("s", A, 2, at(0)), Ok(()));
        assert_eq!(limiter.take("s", A, 2, at(0)), Ok(()));
        assert_eq!(limiter.take("s", A, 2, at(0)), Err(1800));
        assert!(limiter.has_recent_call("s", A, at(3600)) && !limiter.has_recent_call("t", A, at(3600)));
        assert!(!limiter.has_recent_call("s", A, at(3600 * 4)));
    }

    #[test]
    fn memory_is_bounded() {
        let limiter = RateLimiter::new().unwrap();
        for client in 0..100_000_u32 {
            let _ = limiter.take("s", IpAddr::V4(client.into()), 1, limiter.started);
        }
        let generations = limiter.generations.lock().unwrap();
        assert!(generations.current.len() <= GENERATION_CLIENTS);
        assert!(generations.previous.len() <= GENERATION_CLIENTS);
    }
}
