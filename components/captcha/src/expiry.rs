//! Expiry of challenges.

use std::time::Duration;

use crate::policy::Site;

/// Returns the whole Unix seconds at which a challenge issued `now` expires.
pub fn expiry(site: &Site, now: Duration) -> u64 {
    now.as_secs().saturating_add(site.timeout_seconds.into())
}

/// Returns whether `expires_at`, Unix seconds, is before `now`.
pub fn is_past(expires_at: Option<f64>, now: Duration) -> bool {
    expires_at.is_some_and(|seconds| seconds < now.as_secs_f64())
}
