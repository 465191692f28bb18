//! Limits wrong secrets at `siteverify`, which needs no other credential.
//!
//! A right secret that is too long to be guessed is always accepted. A shorter one that is new from its address uses up
//! the limit before it is compared, and is refunded if it is right. So guesses are limited, while neither the guesses
//! of others nor an outdated secret block a back end that is known.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::{Duration, Instant},
};

use bulkhead_http::rate_limit::RateLimiter;

use crate::config::SECRET_CHARS;

/// Most different wrong secrets per minute from one address, and most repetitions of the same one.
const BY_CLIENT: u32 = 10;
/// Most different wrong secrets per minute from all addresses.
const IN_ALL: u32 = 100;
/// Least time for which a right secret is remembered.
const KNOWN: Duration = Duration::from_secs(24 * 3600);

/// The address under which all clients are counted together.
const EVERYBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// Names of the two limits; those of single secrets have a prefix.
const GUESSES: &str = "guesses";
const ALL_GUESSES: &str = "all guesses";

/// Counts wrong secrets and remembers right ones, each with its address; stores only their MACs.
pub struct SecretGuesses {
    wrong: RateLimiter,
    right: RateLimiter,
}

impl SecretGuesses {
    /// Returns empty counters. Fails when the operating system returns no random bytes.
    pub fn new() -> Result<Self, getrandom::Error> {
        Ok(Self { wrong: RateLimiter::new()?, right: RateLimiter::over(KNOWN)? })
    }

    /// Counts a secret; `is_right` says whether a site has it.
    ///
    /// # Errors
    /// Returns the seconds until the next attempt when the limit is reached, unless the secret is right and long.
    pub fn count(&self, secret: &str, client: IpAddr, is_right: bool, now: Instant) -> Result<(), u32> {
        if is_right && secret.chars().count() >= SECRET_CHARS {
            return Ok(());
        }
        let name = format!("secret {secret}");
        if is_right && self.right.has_recent_call(&name, client, now) {
            // Extends the time for which it is known.
            return self.right.take(&name, client, u32::MAX, now);
        }
        let is_new = !self.wrong.has_recent_call(&name, client, now);
        if is_new {
            self.wrong.take(GUESSES, client, BY_CLIENT, now)?;
            if let Err(seconds) = self.wrong.take(ALL_GUESSES, EVERYBODY, IN_ALL, now) {
                self.wrong.refund(GUESSES, client, BY_CLIENT, now);
                return Err(seconds);
            }
        }
        if !is_right {
            return self.wrong.take(&name, client, BY_CLIENT, now);
        }
        if is_new {
            self.wrong.refund(GUESSES, client, BY_CLIENT, now);
            self.wrong.refund(ALL_GUESSES, EVERYBODY, IN_ALL, now);
        }
        self.right.take(&name, client, u32::MAX, now)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(0xC000_0200 + number).into()
    }

    #[test]
    fn guesses_of_one_address_are_limited() {
        let (guesses, now) = (SecretGuesses::new().unwrap(), Instant::now());
        for guess in 0..BY_CLIENT {
            assert_eq!(guesses.count(&format!("guess {guess}"), address(1), false, now), Ok(()));
        }
        assert_eq!(guesses.count("another guess", address(1), false, now), Err(6));
        assert_eq!(
            guesses.count("the secret", address(1), true, now),
            Err(6),
            "the answer does not reveal it"
        );
        assert_eq!(guesses.count("the secret", address(2), true, now), Ok(()));
        let later = now + Duration::from_secs(6);
        assert_eq!(guesses.count("the secret", address(1), true, later), Ok(()), "refunded");
        assert_eq!(guesses.count("another guess", address(1), false, later), Ok(()));
        assert!(guesses.count("one more", address(1), false, later).is_err());
    }

    #[test]
    fn known_back_ends_are_never_limited() {
        let (guesses, now) = (SecretGuesses::new().unwrap(), Instant::now());
        assert_eq!(guesses.count("the secret", address(0), true, now), Ok(()));
        let mut spent = 0;
        for guess in 0..3000 {
            let counted = guesses.count(&format!("guess {guess}"), address(guess % 300), false, now);
            spent += u32::from(counted.is_ok());
        }
        assert_eq!(spent, IN_ALL, "all addresses together");
        for after in [0, 1, 3600, 23 * 3600, 40 * 3600] {
            let then = now + Duration::from_secs(after);
            assert_eq!(guesses.count("the secret", address(0), true, then), Ok(()), "{after}");
        }
        assert!(guesses.count("the secret", address(1), true, now).is_err(), "the address is not known");
    }

    #[test]
    fn long_right_secrets_are_never_limited() {
        let (guesses, now) = (SecretGuesses::new().unwrap(), Instant::now());
        let guess = |guess: u32| guesses.count(&format!("guess {guess}"), address(guess % 300), false, now);
        let spent = (0..3000).filter(|number| guess(*number).is_ok()).count();
        assert_eq!(spent, IN_ALL as usize);
        let secret = |chars| "\u{e9}".repeat(chars);
        for client in [address(0), address(500)] {
            assert_eq!(guesses.count(&secret(SECRET_CHARS), client, true, now), Ok(()), "{client}");
            assert!(guesses.count(&secret(SECRET_CHARS), client, false, now).is_err(), "{client}");
            assert!(guesses.count(&secret(SECRET_CHARS - 1), client, true, now).is_err(), "{client}");
        }
    }

    #[test]
    fn outdated_secret_limits_only_itself() {
        let (guesses, now) = (SecretGuesses::new().unwrap(), Instant::now());
        let outdated = (0..100).filter(|_| guesses.count("outdated", address(1), false, now).is_ok()).count();
        assert_eq!(outdated, BY_CLIENT as usize);
        assert_eq!(guesses.count("the secret", address(1), true, now), Ok(()), "one guess is spent");
    }
}
