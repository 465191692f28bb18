//! The capabilities of this binary: those of every host, and those that its services bring.

mod deprecated;

use bulkhead_captcha_service::capabilities::{ledger::LedgerCapability, pow::PowCapability};
use bulkhead_models::{embeddings::EmbeddingsCapability, nn::NnCapability};
use bulkhead_status_service::capabilities::appointments::AppointmentsCapability;
use bulkhead_tickets_service::capabilities::{
    guard::GuardCapability, llm::LlmCapability, search::SearchCapability,
};

use crate::capabilities::{self, CapabilitySet};

/// Returns every capability of this binary.
pub fn all() -> CapabilitySet {
    capabilities::general()
        .with(PowCapability)
        .with(LedgerCapability)
        .with(AppointmentsCapability)
        .with(NnCapability)
        .with(EmbeddingsCapability)
        .with(SearchCapability)
        .with(LlmCapability)
        .with(GuardCapability)
        .with_deprecated(deprecated::DEPRECATED)
}
