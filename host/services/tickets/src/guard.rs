//! The client of a guardrail service: `POST /api/v1/guardrails/prompt` and `/response`.

pub mod config;
pub mod metrics;

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use self::metrics::{GuardOutcome, SlotGuard};
use crate::outbound::{Outbound, Route};

/// A verdict is a list of a few words with scores.
const RESPONSE_BYTES: usize = 256 << 10;
/// Longest text that the service takes, characters, of ticket and answer together.
const LONGEST: usize = 10_000;
/// Labels that are passed on at most, and the longest, characters.
const LABELS: (usize, usize) = (10, 60);
/// The label of nothing.
const BENIGN: &str = "benign";

/// What the service says of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it objects to nothing.
    pub safe: bool,
    /// What it found, in its words.
    pub labels: Vec<String>,
}

/// The service.
#[derive(Debug)]
pub struct Guard {
    outbound: Outbound,
    settings: config::Guard,
}

impl Guard {
    /// The service as configured.
    ///
    /// # Errors
    /// When its token cannot be used.
    pub fn new(settings: &config::Guard) -> Result<Self, String> {
        let outbound = Outbound::new(&Route {
            base: settings.url.clone(),
            key: settings.auth_token.clone(),
            connect_timeout: settings.timeout,
            read_timeout: settings.timeout,
            response_bytes: RESPONSE_BYTES,
            proxy: None,
        })?;
        Ok(Self { outbound, settings: settings.clone() })
    }

    /// Judges a ticket, or an answer to it. A blank text is safe, and nobody is asked.
    ///
    /// # Errors
    /// Why there is no verdict; the caller must then publish nothing.
    pub async fn check(
        &self,
        text: &str,
        response: Option<&str>,
        deadline: Option<Instant>,
        metrics: &SlotGuard,
    ) -> Result<Judgement, String> {
        if text.trim().is_empty() && response.is_none_or(|response| response.trim().is_empty()) {
            return Ok(Judgement { safe: true, labels: Vec::new() });
        }
        let since = Instant::now();
        let judged = self.ask(text, response, self.deadline(since, deadline)).await;
        let outcome = match &judged {
            Ok(judgement) if judgement.safe => GuardOutcome::Safe,
            Ok(_) => GuardOutcome::Unsafe,
            Err(_) => GuardOutcome::Unavailable,
        };
        metrics.checked(response.map_or("prompt", |_| "response"), outcome, since.elapsed());
        judged
    }

    /// At most half of what the caller has left.
    fn deadline(&self, now: Instant, caller: Option<Instant>) -> Instant {
        let left = caller.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now) / 2);
        now + self.settings.timeout.min(left)
    }

    async fn ask(&self, text: &str, response: Option<&str>, deadline: Instant) -> Result<Judgement, String> {
        if text.chars().count() + response.map_or(0, |response| response.chars().count()) > LONGEST {
            return Err(format!("the guard judges no texts of over {LONGEST} characters"));
        }
        let path = response.map_or("api/v1/guardrails/prompt", |_| "api/v1/guardrails/response");
        let body = Bytes::from(self.body(text, response).to_string());
        let answer = self.outbound.post(path, body, deadline).await;
        let answer = answer.map_err(|fault| format!("the guard: {fault}"))?;
        read(&answer, response.is_some())
    }

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
struct Answer {
    prompt_safety: Option<String>,
    response_safety: Option<String>,
    #[serde(default)]
    prompt_toxicity: Vec<String>,
    #[serde(default)]
    jailbreak_detection: Vec<String>,
    #[serde(default)]
    response_toxicity: Vec<String>,
}

/// What is neither `safe` nor `unsafe` is no verdict: an answer that is misread must not publish anything.
fn read(bytes: &[u8], response: bool) -> Result<Judgement, String> {
    let unreadable = || "the guard answered something that is no verdict".to_owned();
    let answer: Answer = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
    let safety = if response { answer.response_safety } else { answer.prompt_safety };
    let safe = match safety.as_deref() {
        Some("safe") => true,
        Some("unsafe") => false,
        _ => return Err(unreadable()),
    };
    let labels = [answer.prompt_toxicity, answer.jailbreak_detection, answer.response_toxicity];
    let labels = labels.into_iter().flatten().filter(|label| label != BENIGN).take(LABELS.0);
    Ok(Judgement { safe, labels: labels.map(|label| label.chars().take(LABELS.1).collect()).collect() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn verdicts_are_read_and_nothing_else_is() {
        let prompt = json!({ "prompt_safety": "unsafe", "prompt_toxicity": ["benign"], "jailbreak_detection": ["prompt_injection"] });
        let judged = read(prompt.to_string().as_bytes(), false).unwrap();
        assert_eq!(judged, Judgement { safe: false, labels: vec!["prompt_injection".to_owned()] });
        assert!(
            read(prompt.to_string().as_bytes(), true).is_err(),
            "a prompt's verdict is none on a response"
        );
        let response = json!({ "response_safety": "safe", "response_toxicity": [], "label_scores": {} });
        assert!(read(response.to_string().as_bytes(), true).unwrap().safe);
        for broken in ["", "{}", "{\"prompt_safety\":\"SAFE?\"}", "{\"prompt_safety\":true}", "safe"] {
            assert!(read(broken.as_bytes(), false).is_err(), "{broken}");
        }
    }
}
