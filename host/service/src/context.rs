//! What a service is started with.

use std::sync::Arc;

use anyhow::Context as _;
use bulkhead_config::{
    Config,
    slots::{Slot as SlotSettings, SlotId},
};
use bulkhead_rollout::registry::Registries;
use bulkhead_rollout::{DeploymentRegistry, Reloader};
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::slots::SlotContext;
use bulkhead_telemetry::Metrics;

use super::{Extensions, HostHealth, ServiceList};

/// Folder of generated secrets, in the data folder.
pub const SECRETS: &str = "secrets";

/// What a host gives to its services.
pub struct Context {
    /// The configuration that the host has started with.
    pub config: Config,
    /// What all slots share: the engine, the compiler, the limits and the capabilities.
    pub slot_context: SlotContext,
    /// The metrics of the host, and of its services as sets.
    pub metrics: Arc<Metrics>,
    /// The health of the host, which looks at the databases of services.
    pub health: Arc<HostHealth>,
    /// The slots that operators see.
    pub deployments: Arc<DeploymentRegistry>,
    /// Where components may be pulled from.
    pub registries: Arc<Registries>,
    /// Has services follow the configuration when it is read again.
    pub reloader: Arc<Reloader>,
    /// What services share with each other.
    pub extensions: Extensions,
    /// Every service of the host, also those that are off.
    pub services: ServiceList,
}

impl Context {
    /// Returns the settings of a slot of this binary.
    ///
    /// # Errors
    /// When the host has no such slot.
    pub fn slot(&self, id: SlotId) -> anyhow::Result<&SlotSettings> {
        self.config.slots.get(id).with_context(|| format!("this host has no slot {id}"))
    }

    /// Returns a slot's resources with what services lend to the guests of all slots, before its own service has added
    /// to them.
    ///
    /// # Errors
    /// See [`Service::lend`](super::Service::lend).
    pub fn resources(&self, settings: &SlotSettings) -> anyhow::Result<SlotResources> {
        let mut resources = SlotResources::new(settings, Arc::clone(&self.metrics));
        for service in self.services {
            service.lend(self, settings, &mut resources)?;
        }
        Ok(resources)
    }
}
