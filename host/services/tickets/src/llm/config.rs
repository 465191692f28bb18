//! `[tickets.llm]`: settings of the language model for tickets.

use std::time::Duration;

use bulkhead_config::{formats, reader::Reader, secret::Secret};
use url::Url;

/// A low estimate of the average bytes of a token in German and English.
pub(crate) const BYTES_OF_A_TOKEN: u64 = 3;

/// Time for a handshake across a continent.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time of silence while the model writes, for an endpoint that does not stream.
pub const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for all attempts, within a slot's deadline and with time left to answer without the model.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// Enough for a short disruption, not for an outage.
pub const RETRIES: u32 = 2;
/// The concurrency of a small server.
const MAX_CONCURRENT: usize = 4;
/// Enough for a few hundred tickets per hour; limits the cost of a loop or an attack.
const TOKENS_PER_MINUTE: u32 = 100_000;
/// Enough for instructions with examples, a long letter and an answer.
const TOKENS_PER_CALL: u32 = 16_000;
/// Enough for a page.
const MAX_TOKENS: u32 = 1024;
/// Hundreds of times the longest response; held in memory.
const RESPONSE_BYTES: usize = 1 << 20;
/// The temperature at which a model's answers vary least.
const TEMPERATURE_PERCENT: u8 = 0;

/// `[tickets.llm]`.
#[derive(Clone, Debug)]
pub struct LlmSettings {
    /// Base of an OpenAI-compatible API.
    pub url: Url,
    /// Sent as `Authorization: Bearer`.
    pub api_key: Option<Secret>,
    /// The model's name at the endpoint.
    pub model: String,
    /// The temperature, times a hundred.
    pub temperature_percent: u8,
    /// Timeout of connecting.
    pub connect_timeout: Duration,
    /// Timeout of reading from the endpoint.
    pub read_timeout: Duration,
    /// Timeout of a call with all its attempts.
    pub timeout: Duration,
    /// Further attempts after a status of 429 or 5xx, or without a connection.
    pub retries: u32,
    /// Calls at once; more wait.
    pub max_concurrent: usize,
    /// Tokens per minute of all calls.
    pub tokens_per_minute: u32,
    /// Maximum tokens of a call, with its answer.
    pub tokens_per_call: u32,
    /// Maximum tokens of an answer.
    pub max_tokens: u32,
    /// Maximum bytes of a response.
    pub response_bytes: usize,
    /// The proxy that calls go through.
    pub proxy: Option<Url>,
}

impl LlmSettings {
    /// Reads the table. Returns `None` without a URL or a model.
    pub(crate) fn read(r: &mut Reader) -> Option<Self> {
        let url = r
            .key("url", "Base of an OpenAI-compatible API; none: no language model is asked")
            .optional("URL", formats::service_url);
        let allowed = r
            .key("allow", "URLs that may be asked, with all below them; nothing else is")
            .list("URLs", formats::service_url)
            .unwrap_or_default();
        let model = r.key("model", "The model's name at the endpoint").text();
        let model = model.filter(|model| !model.trim().is_empty());
        let api_key = r.key("api_key", "Bearer key of the endpoint; never enters a component").secret();
        let temperature_percent = r
            .key("temperature_percent", "Chance in answers: a temperature of 0 to 2, times a hundred")
            .integer(0..=200, TEMPERATURE_PERCENT);
        let connect_timeout =
            r.key("connect_timeout_ms", "Longest wait for a connection").millis(1..=60_000, CONNECT_TIMEOUT);
        let read_timeout =
            r.key("read_timeout_ms", "Longest silence of the endpoint").millis(1..=600_000, READ_TIMEOUT);
        let timeout = r
            .key("timeout_ms", "Longest call with all its attempts, within slots.NAME.deadline_ms")
            .millis(1..=600_000, TIMEOUT);
        let retries =
            r.key("retries", "Further attempts after 429, 5xx or no connection").integer(0..=10, RETRIES);
        let max_concurrent =
            r.key("max_concurrent", "Calls at once; more wait").integer(1..=1000, MAX_CONCURRENT);
        let tokens_per_minute = r
            .key("tokens_per_minute", "Tokens of all calls together; calls over it are refused")
            .integer(1..=1 << 30, TOKENS_PER_MINUTE);
        let tokens_per_call = r
            .key("tokens_per_call", "Tokens of one call, its answer included")
            .integer(1..=1 << 30, TOKENS_PER_CALL);
        let max_tokens = r.key("max_tokens", "Tokens of one answer").integer(1..=1 << 20, MAX_TOKENS);
        let response_bytes = r
            .key("response_bytes", "Largest answer")
            .unit("bytes")
            .integer(1 << 10..=1 << 26, RESPONSE_BYTES);
        let proxy = r
            .key("proxy", "Proxy that calls go through; the environment's is never used")
            .optional("URL", formats::service_url);
        let url = url?;
        if !formats::is_below(&allowed, &url) {
            r.problem("url", "is not allowed; add it, or a URL above it, to tickets.llm.allow");
        }
        if model.is_none() {
            r.problem("model", "must be given");
        }
        Some(Self {
            url,
            api_key,
            model: model?,
            temperature_percent,
            connect_timeout,
            read_timeout,
            timeout,
            retries,
            max_concurrent,
            tokens_per_minute,
            tokens_per_call,
            max_tokens,
            response_bytes,
            proxy,
        })
    }

    /// Returns settings for tests.
    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(crate) fn for_tests(url: &str) -> Self {
        Self {
            url: Url::parse(url).unwrap(),
            api_key: None,
            model: "small".to_owned(),
            temperature_percent: TEMPERATURE_PERCENT,
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: READ_TIMEOUT,
            timeout: TIMEOUT,
            retries: 0,
            max_concurrent: 1,
            tokens_per_minute: TOKENS_PER_MINUTE,
            tokens_per_call: TOKENS_PER_CALL,
            max_tokens: MAX_TOKENS,
            response_bytes: RESPONSE_BYTES,
            proxy: None,
        }
    }
}
