//! The client of a guardrail service: `POST /api/v1/guardrails/prompt` and `/response`.

pub mod config;
pub mod metrics;

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use self::metrics::{GuardOutcome, SlotGuardMetrics};
use crate::outbound::{OutboundClient, OutboundConfig};

/// Maximum bytes of a response: a few labels with scores.
const RESPONSE_BYTES: usize = 256 << 10;
/// Maximum characters of ticket and answer together that the service accepts.
const MAX_CHARS: usize = 10_000;
/// Maximum number of labels that are passed on.
const MAX_LABELS: usize = 10;
/// Maximum characters of a label.
const MAX_LABEL_CHARS: usize = 60;
/// The label of a text without findings.
const BENIGN: &str = "benign";

/// The service's verdict on a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardVerdict {
    /// Whether the text is safe.
    pub safe: bool,
    /// The labels of the findings.
    pub labels: Vec<String>,
}

/// A client of the guardrail service.
#[derive(Debug)]
pub struct GuardrailClient {
    outbound: OutboundClient,
    settings: config::GuardSettings,
}

impl GuardrailClient {
    /// Creates a client from the configuration.
    ///
    /// # Errors
    /// When the token cannot be used.
    pub fn new(settings: &config::GuardSettings) -> Result<Self, String> {
        let outbound = OutboundClient::new(&OutboundConfig {
            base: settings.url.clone(),
            key: settings.auth_token.clone(),
            connect_timeout: settings.timeout,
            read_timeout: settings.timeout,
            response_bytes: RESPONSE_BYTES,
            proxy: None,
        })?;
        Ok(Self { outbound, settings: settings.clone() })
    }

    /// Judges a ticket, or an answer to it. A blank text is safe without a request.
    ///
    /// # Errors
    /// The reason why there is no verdict; the caller must not publish then.
    pub async fn check(
        &self,
        text: &str,
        response: Option<&str>,
        deadline: Option<Instant>,
        metrics: &SlotGuardMetrics,
    ) -> Result<GuardVerdict, String> {
        if text.trim().is_empty() && response.is_none_or(|response| response.trim().is_empty()) {
            return Ok(GuardVerdict { safe: true, labels: Vec::new() });
        }
        let since = Instant::now();
        let judged = self.ask(text, response, self.deadline(since, deadline)).await;
        let outcome = match &judged {
            Ok(verdict) if verdict.safe => GuardOutcome::Safe,
            Ok(_) => GuardOutcome::Unsafe,
            Err(_) => GuardOutcome::Unavailable,
        };
        metrics.record_check(response.map_or("prompt", |_| "response"), outcome, since.elapsed());
        judged
    }

    /// Returns a deadline within half of the caller's remaining time.
    fn deadline(&self, now: Instant, caller: Option<Instant>) -> Instant {
        let left = caller.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now) / 2);
        now + self.settings.timeout.min(left)
    }

    /// Requests a verdict from the service.
    async fn ask(
        &self,
        text: &str,
        response: Option<&str>,
        deadline: Instant,
    ) -> Result<GuardVerdict, String> {
        if text.chars().count() + response.map_or(0, |response| response.chars().count()) > MAX_CHARS {
            return Err(format!("the guard judges no texts of over {MAX_CHARS} characters"));
        }
        let path = response.map_or("api/v1/guardrails/prompt", |_| "api/v1/guardrails/response");
        let body = Bytes::from(self.body(text, response).to_string());
        let answer = self.outbound.post(path, body, deadline).await;
        let answer = answer.map_err(|error| format!("the guard: {error}"))?;
        read(&answer, response.is_some())
    }

    /// Returns the body of a request.
    fn body(&self, text: &str, response: Option<&str>) -> Value {
        let threshold = f64::from(self.settings.threshold_percent) / 100.0;
        let mut body =
            Map::from_iter([("text".to_owned(), json!(text)), ("threshold".to_owned(), json!(threshold))]);
        if let Some(response) = response {
            body.insert("response".to_owned(), json!(response));
        }
        if let Some(model) = &self.settings.model {
            body.insert("model".to_owned(), json!(model));
        }
        Value::Object(body)
    }
}

#[derive(Deserialize)]
struct GuardResponse {
    prompt_safety: Option<String>,
    response_safety: Option<String>,
    #[serde(default)]
    prompt_toxicity: Vec<String>,
    #[serde(default)]
    jailbreak_detection: Vec<String>,
    #[serde(default)]
    response_toxicity: Vec<String>,
}

/// Reads a response. Anything but `safe` and `unsafe` is an error, so that a misread response publishes nothing.
fn read(bytes: &[u8], response: bool) -> Result<GuardVerdict, String> {
    let unreadable = || "the guard answered something that is not a verdict".to_owned();
    let answer: GuardResponse = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
    let safety = if response { answer.response_safety } else { answer.prompt_safety };
    let safe = match safety.as_deref() {
        Some("safe") => true,
        Some("unsafe") => false,
        _ => return Err(unreadable()),
    };
    let labels = [answer.prompt_toxicity, answer.jailbreak_detection, answer.response_toxicity];
    let labels = labels.into_iter().flatten().filter(|label| label != BENIGN).take(MAX_LABELS);
    Ok(GuardVerdict {
        safe,
        labels: labels.map(|label| label.chars().take(MAX_LABEL_CHARS).collect()).collect(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_valid_verdicts_are_accepted() {
        let prompt = json!({ "prompt_safety": "unsafe", "prompt_toxicity": ["benign"], "jailbreak_detection": ["prompt_injection"] });
        let judged = read(prompt.to_string().as_bytes(), false).unwrap();
        assert_eq!(judged, GuardVerdict { safe: false, labels: vec!["prompt_injection".to_owned()] });
        assert!(
            read(prompt.to_string().as_bytes(), true).is_err(),
            "a verdict on a prompt is not one on a response"
        );
        let response = json!({ "response_safety": "safe", "response_toxicity": [], "label_scores": {} });
        assert!(read(response.to_string().as_bytes(), true).unwrap().safe);
        for broken in ["", "{}", "{\"prompt_safety\":\"SAFE?\"}", "{\"prompt_safety\":true}", "safe"] {
            assert!(read(broken.as_bytes(), false).is_err(), "{broken}");
        }
    }
}
