//! What a binary is made of: its services, and what they add to its command line.

mod command;

pub use self::command::{CommandSpec, FlagsSpec, ServiceCommand, ServiceFlags};
use crate::{
    capabilities::{self, CapabilitySet, Deprecated},
    config::{self, HostSpec, Loaded, Problems, Sources, slots::SlotId},
    service::{MetricRegistrar, ServiceList},
    telemetry::{Metrics, catalog, family::Family},
};

/// The platform with the services of one binary. `main` makes it and gives it to the command line.
#[derive(Clone, Copy)]
pub struct Distribution {
    /// Name of the binary in its help and in the completions for shells.
    pub name: &'static str,
    /// What the binary is, in one sentence, for its help.
    pub about: &'static str,
    /// The services, in the order of operators' lists and of the start.
    pub services: ServiceList,
    /// The names under which interfaces of its capabilities were offered before.
    pub deprecated: &'static [Deprecated],
    /// The subcommands beside those that every binary has.
    pub commands: &'static [CommandSpec],
    /// The flags of `serve` beside those that every binary has.
    pub serve_flags: &'static [FlagsSpec],
}

impl Distribution {
    /// Returns what a configuration of this binary is read for.
    pub fn spec(&self) -> HostSpec {
        HostSpec {
            services: self.services.iter().map(|service| service.spec()).collect(),
            interfaces: self.capabilities().names().collect(),
            tables: self.services.iter().flat_map(|service| service.tables()).copied().collect(),
            aliases: self.services.iter().map(|service| service.aliases()).collect(),
        }
    }

    /// Returns the capabilities that guests may import: those of every binary, then those of each service.
    pub fn capabilities(&self) -> CapabilitySet {
        let general = capabilities::general();
        let all = self.services.iter().fold(general, |set, service| service.add_capabilities(set));
        all.with_deprecated(self.deprecated)
    }

    /// Returns the ids of the slots of all services.
    pub fn slots(&self) -> impl Iterator<Item = SlotId> {
        self.services.iter().flat_map(|service| service.spec().slots).map(|slot| slot.id)
    }

    /// Returns the component of a slot that is part of this binary, if there is one.
    pub fn component(&self, slot: SlotId) -> Option<&'static [u8]> {
        self.spec().slots().find(|spec| spec.id == slot).and_then(|spec| spec.component)
    }

    /// Reads a configuration of this binary.
    ///
    /// # Errors
    /// See [`config::load`].
    pub fn load(&self, sources: Sources) -> Result<Loaded, Problems> {
        config::load(sources, &self.spec())
    }

    /// Registers the metrics of every service, also of those that are off: each family exists from the start.
    ///
    /// # Errors
    /// Only when the list of families is at fault.
    pub fn register_metrics(&self, metrics: &Metrics) -> prometheus::Result<()> {
        self.registrars().try_for_each(|set| set.register(metrics))
    }

    /// Returns every metric family of this binary: those of the platform, then those of services.
    pub fn metric_families(&self) -> Vec<&'static Family> {
        let mut families = catalog::ALL.to_vec();
        families.extend(self.registrars().flat_map(|set| set.families));
        families
    }

    /// The sets of metrics that the platform does not know.
    fn registrars(&self) -> impl Iterator<Item = &'static MetricRegistrar> {
        self.services.iter().flat_map(|service| service.metrics())
    }
}
