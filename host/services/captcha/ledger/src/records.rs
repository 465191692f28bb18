//! Holds the values that the ledger and its stores exchange. Times are Unix milliseconds of the host's clock;
//! PostgreSQL, which hosts share, uses its own instead.

use super::StorageError;
use std::borrow::Cow;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Longest site key, bytes in Unicode NFC: every database can index it.
pub const SITE_KEY_BYTES: usize = 255;

/// A spent challenge is remembered this long beyond its signed expiry: hosts' clocks may differ by it.
pub const SKEW: Duration = Duration::from_secs(60);

/// Most spends that one challenge may have: each is a row, and a claim of all writes them at once.
pub const MAX_LIMIT: u32 = 10_000;

/// Most visits that are counted for a client, so that one client cannot make counting slow.
pub const COUNT_CEILING: u64 = 100_000;

/// How long the row of [`probe`] is kept, milliseconds.
const PROBE_LASTS: i64 = 60_000;

/// Most keys of one client in a count: two epochs are needed, the rest is reserve.
const MAX_CLIENT_KEYS: usize = 8;

/// The last second of the year 9999, which every database can write.
const LAST_SECOND: u64 = 253_402_300_799;

/// Visits counted before the one that is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// By the same client at any site, inside the window; [`COUNT_CEILING`] at most.
    pub client: u64,
    /// By anyone at this site, inside the window. Visits leave this count up to a sixtieth of the window late (one
    /// second to one minute).
    pub site: u64,
}

/// Written visits one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VisitRows {
    /// The key under which each visit is stored, and its expiry.
    pub(super) clients: Vec<(String, i64)>,
    /// Each site's buckets: their expiry and the visits in them.
    pub(super) sites: Vec<(String, i64, i64)>,
}

/// Rows that have not expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Visits inside the window.
    pub captcha_request: u64,
    /// Spends of challenges that are still remembered.
    pub invalidated_payload: u64,
}

/// Rows that a sweep deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// From `captcha_request`.
    pub captcha_request: u64,
    /// From `invalidated_payload`.
    pub invalidated_payload: u64,
    /// From `bulkhead_failure`.
    pub failures: u64,
    /// From `bulkhead_site_visits`.
    pub site_visits: u64,
}

/// A challenge's id as it is stored: 64 lower-case hex digits.
#[derive(Clone, Debug)]
pub(super) struct Id(String);

impl Id {
    /// Checks `text`.
    pub(super) fn parse(text: &str) -> Result<Self, StorageError> {
        if is_hash(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(StorageError::Invalid("challenge id: 64 lower-case hex digits are needed".into()))
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of this id's advisory lock; equal for equal ids on every host.
    pub(super) fn lock_key(&self) -> i64 {
        let first = self.0.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        first.unwrap_or_default().cast_signed()
    }
}

/// Returns the challenge whose failures are counted to see whether anything can be written, and when its row expires,
/// which a sweep deletes then. No challenge has this id.
pub(super) fn probe(now: i64) -> (Id, i64) {
    (Id("0".repeat(64)), now.saturating_add(PROBE_LASTS))
}

/// Returns whether `text` is 64 lower-case hex digits.
pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks the client keys of a count, and returns them in their order without duplicates.
pub(super) fn client_keys(keys: &[String]) -> Result<Cow<'_, [String]>, StorageError> {
    if keys.is_empty() || keys.len() > MAX_CLIENT_KEYS {
        return Err(StorageError::Invalid(format!("client: one to {MAX_CLIENT_KEYS} keys are needed")));
    }
    if !keys.iter().all(|key| is_hash(key)) {
        return Err(StorageError::Invalid("client key: 64 lower-case hex digits are needed".into()));
    }
    let is_repeated = |(place, key): (usize, &String)| keys.iter().take(place).any(|earlier| earlier == key);
    if !keys.iter().enumerate().any(is_repeated) {
        return Ok(keys.into());
    }
    let mut distinct: Vec<String> = Vec::with_capacity(keys.len());
    for key in keys {
        if !distinct.contains(key) {
            distinct.push(key.clone());
        }
    }
    Ok(distinct.into())
}

/// Checks a site key.
pub(super) fn site_key(site: &str) -> Result<&str, StorageError> {
    if site.is_empty() || site.len() > SITE_KEY_BYTES || site.chars().any(char::is_control) {
        return Err(StorageError::Invalid(format!(
            "site: 1 to {SITE_KEY_BYTES} bytes without control characters are needed"
        )));
    }
    Ok(site)
}

/// One spend, or all that are left.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) id: Id,
    /// When the row expires: the signed expiry and [`SKEW`].
    pub(super) expires_at: i64,
    pub(super) now: i64,
    pub(super) limit: u32,
    /// Rows to write at most.
    pub(super) spends: u32,
    /// Whether this process issued the challenge below the high-water mark.
    pub(super) issued_here: bool,
}

impl Claim {
    /// Returns whether it is too late to remember the claim, so that it must not be granted.
    pub(super) fn is_late(&self) -> bool {
        self.expires_at < self.now
    }
}

/// One visit that is to be written.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) id: Uuid,
    pub(super) site: String,
    pub(super) client: String,
    pub(super) allow_listed: bool,
    pub(super) at: i64,
    /// The same in elapsed time, for a database with its own clock.
    pub(super) since: Instant,
    pub(super) expires_at: i64,
    /// Expiry of the bucket that counts it for its site.
    pub(super) bucket: i64,
}

/// How long visits count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Milliseconds.
    pub(super) length: i64,
    /// A site's visits are counted in buckets of this length, milliseconds.
    pub(super) bucket: i64,
}

impl Window {
    /// Returns the latest expiry that a visit at `now` may have: rows that expire later were written by a clock that
    /// was ahead.
    pub(super) fn end(self, now: i64) -> i64 {
        now.saturating_add(self.length).saturating_add(self.bucket)
    }
}

/// Groups visits of a batch by site and bucket, sorted, so that hosts write shared rows in the same order.
pub(super) fn by_site(visits: &[std::sync::Arc<Visit>]) -> std::collections::BTreeMap<(&str, i64), i64> {
    let mut sites = std::collections::BTreeMap::new();
    for visit in visits {
        *sites.entry((visit.site.as_str(), visit.bucket)).or_default() += 1;
    }
    sites
}

/// Converts a duration to milliseconds.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns when the row of a challenge that expires at `expires_at` (Unix seconds) expires.
pub(super) fn row_expiry(expires_at: u64) -> i64 {
    let seconds = expires_at.saturating_add(SKEW.as_secs()).min(LAST_SECOND);
    i64::try_from(seconds).unwrap_or_default().saturating_mul(1000)
}
