use std::time::Duration;

use wasmtime::PoolConcurrencyLimitError;

use crate::{
    capabilities::{Guest, HeldBytesExceeded},
    sandbox::CpuBudgetSpent,
    slots::Ending,
};

/// What wasmtime says when a guest holds more than `sandbox.handles`; it has no type for it.
const HANDLES: &str = "store handle limit exceeded";
/// What wasmtime says when a guest hands over more than `response_bytes`; it has no type for it.
const HOSTCALL_FUEL: &str = "fuel allocated for hostcalls has been exhausted";

/// How a call ended: one metric label and one HTTP answer each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The guest answered.
    Ok,
    /// The guest answered with its own error.
    GuestError,
    /// The guest trapped, or could not be instantiated.
    Trap,
    /// Its processor time is used up.
    CpuBudget,
    /// Its wall time is over.
    Deadline,
    /// It asked for more memory, table elements or host resources than it may have.
    MemoryLimit,
    /// It handed over more than `response_bytes`.
    ResponseTooLarge,
    /// It answered, and the service cannot make its own answer of that.
    BadAnswer,
    /// There was no place for it.
    Overloaded,
    /// Its caller left.
    Cancelled,
}

impl Outcome {
    /// The metric label.
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

    /// What the version that was called is judged by; none where it is no word on it.
    pub(super) const fn ending(self) -> Option<Ending> {
        match self {
            Self::Ok => Some(Ending::Answer),
            Self::GuestError => Some(Ending::Error),
            Self::Trap | Self::BadAnswer => Some(Ending::Broken),
            Self::CpuBudget | Self::MemoryLimit | Self::ResponseTooLarge => Some(Ending::Limited),
            Self::Deadline => Some(Ending::Late),
            Self::Overloaded | Self::Cancelled => None,
        }
    }

    /// What an error of wasmtime means for a guest in this state.
    pub(super) fn of(error: &wasmtime::Error, guest: &Guest) -> Self {
        if error.is::<CpuBudgetSpent>() {
            Self::CpuBudget
        // Before the trap, which is how a refused growth shows up.
        } else if guest.limiter.refusal().is_some() || error.is::<HeldBytesExceeded>() || is_of_handles(error)
        {
            Self::MemoryLimit
        } else if error.is::<PoolConcurrencyLimitError>() {
            Self::Overloaded
        // The innermost cause only: a backtrace around it holds names of the guest's choosing.
        } else if error.root_cause().to_string().contains(HOSTCALL_FUEL) {
            Self::ResponseTooLarge
        } else {
            Self::Trap
        }
    }
}

/// Returns whether a guest has met the limit of its handles.
pub(super) fn is_of_handles(error: &wasmtime::Error) -> bool {
    // The innermost cause only, as above.
    error.root_cause().to_string().contains(HANDLES)
}

/// Why a service cannot use what a guest returned: a reason for the log, without the guest's own text.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub &'static str);

/// Makes a service's answer of what a guest returned. It runs inside the measured call, so that a call counts as ok
/// only when there is an answer.
pub type Accept<T, U> = fn(T) -> Result<U, Unusable>;

/// Accepts what a guest returned as it is: for types of which every value can be answered with.
///
/// # Errors
/// Never.
pub const fn as_it_is<T>(returned: T) -> Result<T, Unusable> {
    Ok(returned)
}

/// A call without an answer; says nothing of the guest's inside.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the component's call ended with {}", outcome.as_str())]
pub struct Failure {
    /// How it ended.
    pub outcome: Outcome,
    /// When to ask again, where that helps.
    pub retry_after: Option<Duration>,
}
