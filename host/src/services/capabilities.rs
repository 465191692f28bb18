//! The capabilities that guests have of this binary: those of every host, and those that its services bring, one file
//! each.

mod appointments;
mod call;
mod deprecated;
mod embeddings;
mod guard;
mod ledger;
mod llm;
mod nn;
mod pow;
mod search;

pub use self::appointments::bindings as appointments_bindings;
pub use self::ledger::bindings as ledger_bindings;
pub use self::nn::bindings as nn_bindings;
pub use self::pow::bindings as pow_bindings;
pub use self::search::bindings as search_bindings;
use crate::capabilities::{self, CapabilitySet};

/// Returns every capability of this binary.
pub fn all() -> CapabilitySet {
    capabilities::general()
        .with(pow::PowCapability)
        .with(ledger::LedgerCapability)
        .with(appointments::AppointmentsCapability)
        .with(nn::NnCapability)
        .with(embeddings::EmbeddingsCapability)
        .with(search::SearchCapability)
        .with(llm::LlmCapability)
        .with(guard::GuardCapability)
        .with_deprecated(deprecated::DEPRECATED)
}
