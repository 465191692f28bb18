//! The services of this binary, and what the platform takes from each.

#[cfg(test)]
pub(in crate::services) mod tests;

use std::sync::LazyLock;

use super::{
    capabilities, captcha::service::CaptchaPlugin, embedding::service::EmbeddingPlugin,
    status::service::StatusPlugin, tickets::service::TicketsPlugin,
};
pub use super::{
    captcha::spec::CAPTCHA,
    status::spec::STATUS,
    tickets::spec::{ANSWER, TRIAGE},
};
use crate::{
    config::{
        self, HostSpec, Loaded, Problems, ServiceSpec, Sources, alias::Aliases, slots::SlotId,
        tables::TableSpec,
    },
    service::{MetricRegistrar, Service, ServiceList},
    telemetry::{Metrics, catalog, family::Family},
};

/// Every service, in the order of operators' lists and of the start.
static SERVICES: [&dyn Service; 4] = [&EmbeddingPlugin, &TicketsPlugin, &StatusPlugin, &CaptchaPlugin];

/// What each of them says of itself, in the same order.
static SPECS: LazyLock<Vec<ServiceSpec>> =
    LazyLock::new(|| SERVICES.iter().map(|service| service.spec()).collect());

/// The tables of all, in reading order.
static TABLES: LazyLock<Vec<TableSpec>> =
    LazyLock::new(|| SERVICES.iter().flat_map(|service| service.tables()).copied().collect());

/// The names of the services that they replace.
static ALIASES: LazyLock<Vec<Aliases>> =
    LazyLock::new(|| SERVICES.iter().map(|service| service.aliases()).collect());

/// Returns every service.
pub fn all() -> ServiceList {
    &SERVICES
}

/// Returns what a configuration of this binary is read for.
pub fn spec() -> HostSpec {
    let interfaces = capabilities::all().names().collect();
    HostSpec { services: &SPECS, interfaces, tables: &TABLES, aliases: &ALIASES }
}

/// Returns the component of a slot that is part of this binary, if there is one.
pub fn component(slot: SlotId) -> Option<&'static [u8]> {
    spec().slots().find(|spec| spec.id == slot).and_then(|spec| spec.component)
}

/// Reads a configuration of this binary.
///
/// # Errors
/// See [`config::load`].
pub fn load(sources: Sources) -> Result<Loaded, Problems> {
    config::load(sources, &spec())
}

/// Registers the metrics of every service, also of those that are off: each family exists from the start.
///
/// # Errors
/// Only when the list of families is at fault.
pub fn register_metrics(metrics: &Metrics) -> prometheus::Result<()> {
    registrars().try_for_each(|set| set.register(metrics))
}

/// Returns every metric family of this binary: those of the platform, then those of services.
pub fn metric_families() -> Vec<&'static Family> {
    let mut families = catalog::ALL.to_vec();
    families.extend(registrars().flat_map(|set| set.families));
    families
}

/// The sets of metrics that the platform does not know. The families of the appointment system, `zms_*`, are not among
/// them: the status component makes those, and they have a page of their own.
fn registrars() -> impl Iterator<Item = &'static MetricRegistrar> {
    SERVICES.iter().flat_map(|service| service.metrics())
}
