//! The client of a language model behind an OpenAI-compatible endpoint.
//!
//! A call has one deadline for waiting, all attempts and the pauses between them. Tokens are reserved before a call and settled
//! after it, so that concurrent calls cannot overdraw the budget. While the endpoint fails, it is not asked.

mod circuit;
pub mod config;
pub mod metrics;
mod retry;
mod token_budget;
mod wire;

use std::time::Duration;

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};

pub use self::wire::{ChatMessage, Completion, CompletionRequest, Role, Schema};
use self::{
    circuit::EndpointCircuit,
    metrics::{LlmOutcome, SlotLlmMetrics},
    token_budget::TokenBudget,
};
use crate::outbound::{OutboundClient, OutboundConfig, OutboundError};

/// Path of the endpoint, below its base URL.
const PATH: &str = "chat/completions";
/// The part of a caller's deadline that is kept to answer without the model.
const RESERVE: Duration = Duration::from_secs(2);

/// Why a completion failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The request may not be sent.
    #[error("{0}")]
    Denied(String),
    /// The request would use more tokens than are allowed.
    #[error("{0}")]
    OverBudget(String),
    /// The endpoint does not answer, or not in time.
    #[error("{0}")]
    Unavailable(String),
    /// The response is not a completion.
    #[error("{0}")]
    InvalidAnswer(String),
}

impl LlmError {
    const fn outcome(&self) -> LlmOutcome {
        match self {
            Self::Denied(_) => LlmOutcome::Denied,
            Self::OverBudget(_) => LlmOutcome::OverBudget,
            Self::Unavailable(_) => LlmOutcome::Unavailable,
            Self::InvalidAnswer(_) => LlmOutcome::InvalidAnswer,
        }
    }
}

impl From<OutboundError> for LlmError {
    fn from(error: OutboundError) -> Self {
        match error {
            OutboundError::TooLarge(_) => Self::InvalidAnswer(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

/// A client of the endpoint, with the limits that its callers share.
#[derive(Debug)]
pub struct LlmClient {
    outbound: OutboundClient,
    settings: config::LlmSettings,
    permits: Semaphore,
    budget: TokenBudget,
    circuit: EndpointCircuit,
}

impl LlmClient {
    /// Creates a client from the configuration.
    ///
    /// # Errors
    /// When the key or the proxy cannot be used.
    pub fn new(settings: &config::LlmSettings) -> Result<Self, String> {
        let outbound = OutboundClient::new(&OutboundConfig {
            base: settings.url.clone(),
            key: settings.api_key.clone(),
            connect_timeout: settings.connect_timeout,
            read_timeout: settings.read_timeout,
            response_bytes: settings.response_bytes,
            proxy: settings.proxy.clone(),
        })?;
        Ok(Self {
            outbound,
            permits: Semaphore::new(settings.max_concurrent),
            budget: TokenBudget::new(settings.tokens_per_minute),
            circuit: EndpointCircuit::default(),
            settings: settings.clone(),
        })
    }

    /// Requests a completion for a caller with a `deadline` of its own. Dropping the future ends the call.
    ///
    /// # Errors
    /// See [`LlmError`].
    pub async fn complete(
        &self,
        request: &CompletionRequest,
        deadline: Option<Instant>,
        metrics: &SlotLlmMetrics,
    ) -> Result<Completion, LlmError> {
        let call = metrics.begin();
        let completed = self.within_limits(request, self.deadline(deadline), metrics).await;
        call.end(match &completed {
            Ok(_) => LlmOutcome::Ok,
            Err(error) => error.outcome(),
        });
        if let Ok(completion) = &completed {
            metrics.record_tokens(completion.input_tokens, completion.output_tokens);
        }
        completed
    }

    /// Returns a deadline that leaves the caller time to answer without the model.
    fn deadline(&self, caller: Option<Instant>) -> Instant {
        let now = Instant::now();
        let own = now + self.settings.timeout;
        let left = caller.map(|deadline| deadline.saturating_duration_since(now));
        left.map_or(own, |left| own.min(now + left.saturating_sub(RESERVE.min(left / 4))))
    }

    /// Requests a completion within the limits.
    async fn within_limits(
        &self,
        request: &CompletionRequest,
        deadline: Instant,
        metrics: &SlotLlmMetrics,
    ) -> Result<Completion, LlmError> {
        let most = self.settings.max_tokens;
        let max_tokens = request.max_tokens.map_or(most, |requested| requested.clamp(1, most));
        let body = wire::body(&self.settings, request, max_tokens).map_err(LlmError::Denied)?;
        let estimate = request.estimated_tokens() + u64::from(max_tokens);
        if estimate > u64::from(self.settings.tokens_per_call) {
            let most = self.settings.tokens_per_call;
            let reason =
                format!("the call may take {estimate} tokens, tickets.llm.tokens_per_call allows {most}");
            return Err(LlmError::OverBudget(reason));
        }
        if let Some(refusal) = self.circuit.refusal(Instant::now()) {
            return Err(LlmError::Unavailable(refusal));
        }
        let permit = timeout_at(deadline, self.permits.acquire()).await;
        let timed_out =
            || LlmError::Unavailable("all of tickets.llm.max_concurrent calls are taken".to_owned());
        let _permit = permit.map_err(|_| timed_out())?.map_err(|_| timed_out())?;
        let reserved = self.budget.reserve(estimate).map_err(LlmError::OverBudget)?;
        let asked = Instant::now();
        let pass = match self.circuit.pass(asked) {
            Ok(pass) => pass,
            Err(refusal) => {
                reserved.settle(Some(0));
                return Err(LlmError::Unavailable(refusal));
            }
        };
        let answered = self.attempts(&body, deadline, metrics).await;
        let patience = self.settings.read_timeout.min(self.settings.timeout / 2);
        match &answered {
            Ok(_) => pass.succeed(),
            // The short deadline of one caller, or its wait for the permit, says nothing about the endpoint.
            Err(OutboundError::Timeout) if asked.elapsed() < patience => {}
            Err(error) => pass.fail(error, Instant::now()),
        }
        match answered {
            Ok(bytes) => {
                let completion = wire::completion(&bytes, max_tokens).map_err(LlmError::InvalidAnswer);
                reserved.settle(completion.as_ref().ok().and_then(Completion::tokens));
                completion
            }
            // The model has used the tokens even if its response is no longer awaited.
            Err(error @ (OutboundError::Timeout | OutboundError::Broken | OutboundError::TooLarge(_))) => {
                Err(error.into())
            }
            Err(error) => {
                reserved.settle(Some(0));
                Err(error.into())
            }
        }
    }

    /// Posts the request, again after temporary errors.
    async fn attempts(
        &self,
        body: &bytes::Bytes,
        deadline: Instant,
        metrics: &SlotLlmMetrics,
    ) -> Result<Vec<u8>, OutboundError> {
        let mut attempt = 0;
        loop {
            let error = match self.outbound.post(PATH, body.clone(), deadline).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => error,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let pause = retry::pause(&error, attempt, left, retry::jitter());
            let Some(pause) = pause.filter(|_| attempt < self.settings.retries) else { return Err(error) };
            metrics.record_retry();
            sleep(pause).await;
            attempt += 1;
        }
    }
}
