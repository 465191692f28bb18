//! Describes a binary: its services, and the subcommands and flags that they add.

use bulkhead_authoring::AuthorPlatform;
use bulkhead_config::{HostSpec, Loaded, Problems, Sources, slots::SlotId};
use bulkhead_runtime::capabilities::{self, CapabilitySet, Deprecated};
use bulkhead_service::{CommandSpec, FlagsSpec, MetricRegistrar, ServiceList};
use bulkhead_telemetry::{Metrics, catalog, family::Family};

/// The platform with the services of one binary. `main` makes it and gives it to the command line.
#[derive(Clone, Copy)]
pub struct Distribution {
    /// Name of the binary in its help and in the completions for shells.
    pub name: &'static str,
    /// The description of the binary in its help, one sentence.
    pub about: &'static str,
    /// The services, in the order of operators' lists and of the start.
    pub services: ServiceList,
    /// The deprecated names of interfaces of its capabilities.
    pub deprecated: &'static [Deprecated],
    /// The names of subcommands of services, in the order of the help. Those that are not named come last, in the order of
    /// services.
    pub command_order: &'static [&'static str],
    /// What the start page of `--demo` shows besides the services.
    pub start_page: StartPage,
}

/// The start page of a binary.
#[derive(Clone, Copy, Debug)]
pub struct StartPage {
    /// The name of the product, for the page's title.
    pub name: &'static str,
    /// The guides that are listed before those of services.
    pub first_guides: &'static [BinaryGuide],
    /// The guides that are listed after those of services.
    pub last_guides: &'static [BinaryGuide],
}

/// A guide that belongs to no service.
#[derive(Clone, Copy, Debug)]
pub struct BinaryGuide {
    /// Its path in the repository, which ends in `.md`: links between guides are relative to it.
    pub source: &'static str,
    /// Its title, which its first heading repeats.
    pub title: &'static str,
    /// Its text, in Markdown.
    pub text: &'static str,
}

impl Distribution {
    /// Returns the services, interfaces and tables that a configuration of this binary may name.
    pub fn spec(&self) -> HostSpec {
        let capabilities = self.capabilities();
        HostSpec {
            services: self.services.iter().map(|service| service.spec()).collect(),
            interfaces: capabilities.names().collect(),
            stubs: capabilities.stubs().map(|stub| stub.name).collect(),
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

    /// Returns the subcommands in addition to those of every binary, in the order of the help.
    pub fn commands(&self) -> Vec<&'static CommandSpec> {
        let mut commands: Vec<_> = self.services.iter().flat_map(|service| service.commands()).collect();
        let place = |name: &str| self.command_order.iter().position(|known| *known == name);
        commands.sort_by_cached_key(|own| place(own.command().get_name()).unwrap_or(usize::MAX));
        commands
    }

    /// Returns the flags of `serve` in addition to those of every binary.
    pub fn serve_flags(&self) -> impl Iterator<Item = &'static FlagsSpec> {
        self.services.iter().flat_map(|service| service.serve_flags())
    }

    /// Returns the ids of the slots of all services.
    pub fn slots(&self) -> impl Iterator<Item = SlotId> {
        self.services.iter().flat_map(|service| service.spec().slots).map(|slot| slot.id)
    }

    /// Returns what the binary offers to components, as data for their authors.
    pub fn for_authors(&self) -> AuthorPlatform {
        AuthorPlatform {
            name: self.name,
            slots: self.spec().slots().copied().collect(),
            worlds: self.services.iter().flat_map(|service| service.worlds()).copied().collect(),
            served: self.services.iter().flat_map(|service| service.served_worlds()).copied().collect(),
            files: self.services.iter().map(|service| service.author_files()).collect(),
            capabilities: self.capabilities(),
        }
    }

    /// Returns the component of a slot that is part of this binary, if there is one.
    pub fn component(&self, slot: SlotId) -> Option<&'static [u8]> {
        self.spec().slots().find(|spec| spec.id == slot).and_then(|spec| spec.component)
    }

    /// Reads a configuration of this binary.
    ///
    /// # Errors
    /// See [`bulkhead_config::load`].
    pub fn load(&self, sources: Sources) -> Result<Loaded, Problems> {
        bulkhead_config::load(sources, &self.spec())
    }

    /// Registers the metrics of every service, disabled ones included, so that each family exists from the start.
    ///
    /// # Errors
    /// Fails only if the list of families is wrong.
    pub fn register_metrics(&self, metrics: &Metrics) -> prometheus::Result<()> {
        self.registrars().try_for_each(|set| set.register(metrics))
    }

    /// Returns every metric family of this binary: those of the platform, then those of services.
    pub fn metric_families(&self) -> Vec<&'static Family> {
        let mut families = catalog::ALL.to_vec();
        families.extend(self.registrars().flat_map(|set| set.families));
        families
    }

    /// Returns the sets of metrics of the services.
    fn registrars(&self) -> impl Iterator<Item = &'static MetricRegistrar> {
        self.services.iter().flat_map(|service| service.metrics())
    }
}
