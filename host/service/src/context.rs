//! The context that a host starts its services with.

mod added_slot;
mod component;
mod extensions;
mod slot_starts;

use std::sync::Arc;

use anyhow::Context as _;
use bulkhead_config::{
    Config,
    slots::{SlotId, SlotSettings},
};
use bulkhead_registry::Registries;
use bulkhead_rollout::{DeploymentRegistry, Reloader};
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::slots::SlotContext;
use bulkhead_telemetry::Metrics;

use super::{HostHealth, Routes, ServiceList};
pub use component::{ComponentCheckError, check_component};
pub use extensions::Extensions;
pub use slot_starts::SlotStarts;

/// Folder of generated secrets, in the data folder.
pub const SECRETS_DIR: &str = "secrets";

/// The parts of a host that its services use. A service that changes its slots or routes while the host runs keeps a clone,
/// which shares everything with the original.
#[derive(Clone)]
pub struct ServiceContext {
    /// The configuration that the host has started with.
    pub config: Config,
    /// The parts that all slots share: the engine, the compiler, the limits and the capabilities.
    pub slot_context: SlotContext,
    /// The metrics of the host, and of its services as sets.
    pub metrics: Arc<Metrics>,
    /// The health of the host, which probes the databases of services.
    pub health: Arc<HostHealth>,
    /// The slots that operators see.
    pub deployments: Arc<DeploymentRegistry>,
    /// The slots that are starting, until all services are started.
    pub starts: SlotStarts,
    /// The registries that components may be pulled from.
    pub registries: Arc<Registries>,
    /// The routes of the host, which services may change while it runs.
    pub routes: Routes,
    /// Notifies services when the configuration is reloaded.
    pub reloader: Arc<Reloader>,
    /// Values that services share with each other.
    pub extensions: Extensions,
    /// Every service of the host, also those that are off.
    pub services: ServiceList,
}

impl ServiceContext {
    /// Returns the settings of a slot of this binary.
    ///
    /// # Errors
    /// When the host has no such slot.
    pub fn slot(&self, id: SlotId) -> anyhow::Result<&SlotSettings> {
        self.config.slots.get(id).with_context(|| format!("this host has no slot {id}"))
    }

    /// Returns a slot's resources with what every service provides to the guests of all slots. The slot's own service
    /// adds more to them.
    ///
    /// # Errors
    /// See [`Service::provide`](super::Service::provide).
    pub fn resources(&self, settings: &SlotSettings) -> anyhow::Result<SlotResources> {
        let mut resources = SlotResources::new(settings, Arc::clone(&self.metrics));
        for service in self.services {
            service.provide(self, settings, &mut resources)?;
        }
        Ok(resources)
    }
}
