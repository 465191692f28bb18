//! The language model behind an OpenAI-compatible endpoint, for guests.
//!
//! A call has one deadline for waiting, all attempts and the pauses between them. Tokens are set aside before a call
//! and settled after it, so that calls at once cannot overdraw the minute together.

mod budget;
pub mod config;
pub mod metrics;
mod retry;
mod wire;

use std::time::Duration;

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};

pub use self::wire::{Completion, Message, Request, Role, Schema};
use self::{
    budget::MinuteBudget,
    metrics::{LlmOutcome, SlotLlm},
};
use crate::outbound::{Fault, Outbound, Route};

/// Path below the endpoint's base.
const PATH: &str = "chat/completions";
/// What a caller keeps of its own deadline to answer without the model.
const RESERVE: Duration = Duration::from_secs(2);

/// Why there is no completion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The request is none that may be sent.
    #[error("{0}")]
    Denied(String),
    /// It would take more tokens than are allowed.
    #[error("{0}")]
    OverBudget(String),
    /// The endpoint does not answer, or not in time.
    #[error("{0}")]
    Unavailable(String),
    /// The answer is no completion.
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

impl From<Fault> for LlmError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::TooLarge(_) => Self::InvalidAnswer(fault.to_string()),
            _ => Self::Unavailable(fault.to_string()),
        }
    }
}

/// The endpoint, and what its callers share.
#[derive(Debug)]
pub struct Llm {
    outbound: Outbound,
    settings: config::Llm,
    places: Semaphore,
    budget: MinuteBudget,
}

impl Llm {
    /// The endpoint as configured.
    ///
    /// # Errors
    /// When the key or the proxy cannot be used.
    pub fn new(settings: &config::Llm) -> Result<Self, String> {
        let outbound = Outbound::new(&Route {
            base: settings.url.clone(),
            key: settings.api_key.clone(),
            connect_timeout: settings.connect_timeout,
            read_timeout: settings.read_timeout,
            response_bytes: settings.response_bytes,
            proxy: settings.proxy.clone(),
        })?;
        Ok(Self {
            outbound,
            places: Semaphore::new(settings.max_concurrent),
            budget: MinuteBudget::new(settings.tokens_per_minute),
            settings: settings.clone(),
        })
    }

    /// Asks the model once for a caller that must answer by `deadline` itself. Dropping the future ends the call.
    ///
    /// # Errors
    /// See [`LlmError`].
    pub async fn complete(
        &self,
        request: &Request,
        deadline: Option<Instant>,
        metrics: &SlotLlm,
    ) -> Result<Completion, LlmError> {
        let call = metrics.begin();
        let completed = self.within(request, self.deadline(deadline), metrics).await;
        call.end(match &completed {
            Ok(_) => LlmOutcome::Ok,
            Err(error) => error.outcome(),
        });
        if let Ok(completion) = &completed {
            metrics.tokens(completion.input_tokens, completion.output_tokens);
        }
        completed
    }

    /// Early enough for the caller to go on without the model.
    fn deadline(&self, caller: Option<Instant>) -> Instant {
        let now = Instant::now();
        let own = now + self.settings.timeout;
        let left = caller.map(|deadline| deadline.saturating_duration_since(now));
        left.map_or(own, |left| own.min(now + left.saturating_sub(RESERVE.min(left / 4))))
    }

    async fn within(
        &self,
        request: &Request,
        deadline: Instant,
        metrics: &SlotLlm,
    ) -> Result<Completion, LlmError> {
        let most = self.settings.max_tokens;
        let answer = request.max_tokens.map_or(most, |wanted| wanted.clamp(1, most));
        let body = wire::body(&self.settings, request, answer).map_err(LlmError::Denied)?;
        let estimate = request.estimated_tokens() + u64::from(answer);
        if estimate > u64::from(self.settings.tokens_per_call) {
            let most = self.settings.tokens_per_call;
            let reason =
                format!("the call may take {estimate} tokens, tickets.llm.tokens_per_call allows {most}");
            return Err(LlmError::OverBudget(reason));
        }
        let place = timeout_at(deadline, self.places.acquire()).await;
        let late = || LlmError::Unavailable("all of tickets.llm.max_concurrent calls are taken".to_owned());
        let _place = place.map_err(|_| late())?.map_err(|_| late())?;
        let reserved = self.budget.reserve(estimate).map_err(LlmError::OverBudget)?;
        let answered = self.attempts(&body, deadline, metrics).await;
        match answered {
            Ok(bytes) => {
                let completion = wire::completion(&bytes, answer).map_err(LlmError::InvalidAnswer);
                reserved.settle(completion.as_ref().ok().and_then(Completion::tokens));
                completion
            }
            // A model that was asked and is waited for no more has done its work all the same.
            Err(fault @ (Fault::Timeout | Fault::Broken | Fault::TooLarge(_))) => Err(fault.into()),
            Err(fault) => {
                reserved.settle(Some(0));
                Err(fault.into())
            }
        }
    }

    async fn attempts(
        &self,
        body: &bytes::Bytes,
        deadline: Instant,
        metrics: &SlotLlm,
    ) -> Result<Vec<u8>, Fault> {
        let mut attempt = 0;
        loop {
            let fault = match self.outbound.post(PATH, body.clone(), deadline).await {
                Ok(bytes) => return Ok(bytes),
                Err(fault) => fault,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let pause = retry::pause(&fault, attempt, left, retry::jitter());
            let Some(pause) = pause.filter(|_| attempt < self.settings.retries) else { return Err(fault) };
            metrics.retry();
            sleep(pause).await;
            attempt += 1;
        }
    }
}
