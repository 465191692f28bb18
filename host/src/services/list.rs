//! Lists the services of the `bulkhead` binary.

// They know the services of a complete binary.
#[cfg(all(test, feature = "inference", feature = "mysql"))]
pub(in crate::services) mod tests;

use bulkhead_server::Distribution;
use bulkhead_service::ServiceList;

#[cfg(feature = "inference")]
pub use super::tickets::spec::{ANSWER, TRIAGE};
use super::{
    apps::service::AppsPlugin, captcha::service::CaptchaPlugin, deprecated::DEPRECATED,
    start_page::START_PAGE, status::service::StatusPlugin,
};
pub use super::{captcha::spec::CAPTCHA, status::spec::STATUS};
#[cfg(feature = "inference")]
use super::{embedding::service::EmbeddingPlugin, tickets::service::TicketsPlugin};
use crate::{
    capabilities::CapabilitySet,
    config::{HostSpec, Loaded, Problems, Sources, slots::SlotId},
    telemetry::{Metrics, family::Family},
};

#[cfg(feature = "inference")]
const ABOUT: &str = "A WebAssembly component host for apps, embedding, ticket triage, appointment status and captcha services";
#[cfg(not(feature = "inference"))]
const ABOUT: &str = "A WebAssembly component host for apps, appointment status and captcha services";

#[cfg(feature = "inference")]
const SERVICES: ServiceList = &[&EmbeddingPlugin, &TicketsPlugin, &StatusPlugin, &CaptchaPlugin, &AppsPlugin];
#[cfg(not(feature = "inference"))]
const SERVICES: ServiceList = &[&StatusPlugin, &CaptchaPlugin, &AppsPlugin];

/// The platform with its services. Its metrics do not include the families of the appointment system, `zms_*`: the
/// status component makes those, and they have a page of their own.
pub const BULKHEAD: Distribution = Distribution {
    name: env!("CARGO_PKG_NAME"),
    about: ABOUT,
    services: SERVICES,
    deprecated: DEPRECATED,
    command_order: &["run", "model", "demo", "captcha", "kb", "triage", "tickets"],
    start_page: START_PAGE,
};

/// Returns the capabilities of this binary.
pub fn capabilities() -> CapabilitySet {
    BULKHEAD.capabilities()
}

/// Returns the services, interfaces and tables that a configuration of this binary may name.
pub fn spec() -> HostSpec {
    BULKHEAD.spec()
}

/// Returns the component of a slot that is part of this binary, if there is one.
pub fn component(slot: SlotId) -> Option<&'static [u8]> {
    BULKHEAD.component(slot)
}

/// Reads a configuration of this binary.
///
/// # Errors
/// See [`Distribution::load`].
pub fn load(sources: Sources) -> Result<Loaded, Problems> {
    BULKHEAD.load(sources)
}

/// Registers the metrics of every service, disabled ones included.
///
/// # Errors
/// Fails only if the list of families is wrong.
pub fn register_metrics(metrics: &Metrics) -> prometheus::Result<()> {
    BULKHEAD.register_metrics(metrics)
}

/// Returns every metric family of this binary: those of the platform, then those of services.
pub fn metric_families() -> Vec<&'static Family> {
    BULKHEAD.metric_families()
}
