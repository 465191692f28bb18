//! `[tickets.guard]`: settings of the guardrail service that judges tickets and answers.

use std::time::Duration;

use bulkhead_config::{formats, reader::Reader, secret::Secret};
use url::Url;

/// Several times the response time of a small model.
pub const TIMEOUT: Duration = Duration::from_secs(3);
/// The default of the service, per cent.
const THRESHOLD_PERCENT: u8 = 70;

/// `[tickets.guard]`.
#[derive(Clone, Debug)]
pub struct GuardSettings {
    /// Base of the service.
    pub url: Url,
    /// Sent as `Authorization: Bearer`.
    pub auth_token: Option<Secret>,
    /// Timeout of a check.
    pub timeout: Duration,
    /// Minimum confidence of a finding, per cent.
    pub threshold_percent: u8,
    /// The model that judges; absent: the service's default.
    pub model: Option<String>,
    /// Whether unsafe tickets and answers are rejected, rather than only not published.
    pub block: bool,
}

impl GuardSettings {
    /// Reads the table. Returns `None` without a URL.
    pub(crate) fn read(r: &mut Reader) -> Option<Self> {
        let url = r
            .key("url", "Base of a guardrail service; none: no guard is asked")
            .optional("URL", formats::service_url);
        let auth_token = r.key("auth_token", "Bearer token of the service").secret();
        let timeout = r.key("timeout_ms", "Longest check").millis(1..=60_000, TIMEOUT);
        let threshold_percent = r
            .key("threshold_percent", "How sure the service must be of a fault")
            .unit("per cent")
            .integer(0..=100, THRESHOLD_PERCENT);
        let model = r.key("model", "The model it judges with; none: its default").text();
        let block = r
            .key("block", "Refuse unsafe tickets and answers; else they are only never published")
            .flag(false);
        if !r.is_set("url")
            && ["auth_token", "timeout_ms", "threshold_percent", "model", "block"]
                .iter()
                .any(|key| r.is_set(key))
        {
            r.problem("url", "is not set, so no guard is asked; give its address, or remove tickets.guard");
        }
        Some(Self { url: url?, auth_token, timeout, threshold_percent, model, block })
    }
}
