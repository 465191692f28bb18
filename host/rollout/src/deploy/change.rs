//! Requests of operators to change which versions answer.

use bulkhead_runtime::slots::Weight;

/// A change that an operator requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This version answers every call; a candidate is removed.
    Swap(String),
    /// This version, or without a name the current candidate, answers a share of the calls.
    Canary(Option<String>, Weight),
    /// This version, or without a name the current candidate, receives copies of the calls and answers none.
    Shadow(Option<String>),
    /// The candidate answers every call.
    Promote,
    /// The candidate is removed; without one, the previous version answers again.
    Rollback,
}

impl Change {
    /// The name in paths, metrics and logs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Swap(_) => "swap",
            Self::Canary(..) => "canary",
            Self::Shadow(_) => "shadow",
            Self::Promote => "promote",
            Self::Rollback => "rollback",
        }
    }
}

/// The generation that a change expects, with its author and reason.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The generation that the author has seen.
    pub generation: u64,
    /// The name of the author's token, or the host itself.
    pub actor: String,
    /// The author's reason.
    pub reason: String,
}
