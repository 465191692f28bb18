//! The outcome of a call, and the errors of a call without an answer.

use std::time::Duration;

use wasmtime::PoolConcurrencyLimitError;

use crate::{
    capabilities::{ResourceMemoryExceeded, StoreData},
    sandbox::CpuBudgetExceeded,
    slots::CallResult,
};

/// wasmtime's error text when a guest holds more than `sandbox.handles`; it has no type for it.
const HANDLES: &str = "store handle limit exceeded";
/// wasmtime's error text when a guest passes more than `response_bytes` to the host; it has no type for it.
const HOSTCALL_FUEL: &str = "fuel allocated for hostcalls has been exhausted";

/// The outcome of a call. Each has one metric label and one HTTP answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The guest answered.
    Ok,
    /// The guest answered with its own error.
    GuestError,
    /// The guest trapped, or could not be instantiated.
    Trap,
    /// It exceeded its processor time.
    CpuBudget,
    /// It exceeded its wall time.
    Deadline,
    /// It asked for more memory, table elements or host resources than it may have.
    MemoryLimit,
    /// It passed more than `response_bytes` to the host.
    ResponseTooLarge,
    /// The guest answered, and the service cannot use the answer.
    BadAnswer,
    /// No permit or no instance was free.
    Overloaded,
    /// The caller disconnected.
    Cancelled,
}

impl Outcome {
    /// Returns the metric label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::GuestError => "guest-error",
            Self::Trap => "trap",
            Self::CpuBudget => "cpu-budget",
            Self::Deadline => "deadline",
            Self::MemoryLimit => "memory-limit",
            Self::ResponseTooLarge => "response-too-large",
            Self::BadAnswer => "bad-answer",
            Self::Overloaded => "overloaded",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the result by which the called version is judged, or `None` where the outcome says nothing about it.
    pub(super) const fn call_result(self) -> Option<CallResult> {
        match self {
            Self::Ok => Some(CallResult::Answered),
            Self::GuestError => Some(CallResult::GuestError),
            Self::Trap | Self::BadAnswer => Some(CallResult::Trapped),
            Self::CpuBudget | Self::MemoryLimit | Self::ResponseTooLarge => Some(CallResult::LimitExceeded),
            Self::Deadline => Some(CallResult::TimedOut),
            Self::Overloaded | Self::Cancelled => None,
        }
    }

    /// Returns the outcome that an error of wasmtime means for a guest in this state.
    pub fn of(error: &wasmtime::Error, guest: &StoreData) -> Self {
        if let Some(ended) = error.downcast_ref::<EndedCall>() {
            ended.outcome
        } else if error.is::<CpuBudgetExceeded>() {
            Self::CpuBudget
        // Checked before the trap, because a guest traps after a refused growth.
        } else if guest.limiter.refusal().is_some()
            || error.is::<ResourceMemoryExceeded>()
            || is_handle_limit(error)
        {
            Self::MemoryLimit
        } else if error.is::<PoolConcurrencyLimitError>() {
            Self::Overloaded
        // The innermost cause only: the guest chooses the names in a backtrace around it.
        } else if error.root_cause().to_string().contains(HOSTCALL_FUEL) {
            Self::ResponseTooLarge
        } else {
            Self::Trap
        }
    }
}

/// Returns whether a guest has exceeded the limit of its handles.
pub(super) fn is_handle_limit(error: &wasmtime::Error) -> bool {
    // The innermost cause only, as above.
    error.root_cause().to_string().contains(HANDLES)
}

/// The error with which a service ends a call that still runs, for a limit that the service itself enforces.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct EndedCall {
    /// The outcome of the call.
    pub outcome: Outcome,
    /// The reason, for the log.
    pub reason: String,
    /// The key below the slot's table that raises the limit, if one does.
    pub key: Option<&'static str>,
}

/// The error of an answer that a service cannot use: a reason for the log, without the guest's own text.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadAnswer(pub &'static str);

/// Turns what a guest returned into a service's answer. Runs inside the measured call, so that a call counts as ok only
/// when there is an answer.
pub type Accept<T, U> = fn(T) -> Result<U, BadAnswer>;

/// Accepts what a guest returned unchanged: for types of which every value is a valid answer.
///
/// # Errors
/// Never.
pub const fn accept_any<T>(returned: T) -> Result<T, BadAnswer> {
    Ok(returned)
}

/// The error of a call without an answer. It discloses nothing of the guest.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the component's call ended with {}", outcome.as_str())]
pub struct CallFailure {
    /// The outcome of the call.
    pub outcome: Outcome,
    /// The time after which to retry, where a retry can help.
    pub retry_after: Option<Duration>,
}
