//! Describes the host that a configuration is read for: services, their tables, aliases, and interfaces.

use super::alias::Aliases;
use crate::{
    reader::tree::ChosenNames,
    slots::{Offers, ServiceSpec, SlotSpec},
    tables::TableSpec,
};

/// The host that a configuration is read for. Lists of services and slots keep this order.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    /// The services of the binary.
    pub services: Vec<ServiceSpec>,
    /// Names of the interfaces of the host, without their versions: `slots.NAME.grants` may name these.
    pub interfaces: Vec<&'static str>,
    /// Names of the stubs of the host, which need no grant: `slots.NAME.grants` may not name these.
    pub stubs: Vec<&'static str>,
    /// Tables of the services, in reading order.
    pub tables: Vec<TableSpec>,
    /// Aliases: the variable names of replaced services.
    pub aliases: Vec<Aliases>,
}

impl HostSpec {
    /// Returns the slots of all services.
    pub fn slots(&self) -> impl Iterator<Item = &'static SlotSpec> {
        self.services.iter().flat_map(|service| service.slots)
    }

    /// Returns the services, and what their components may import.
    pub(super) fn offers(&self) -> Offers<'_> {
        Offers { services: &self.services, interfaces: &self.interfaces, stubs: &self.stubs }
    }

    /// Returns the paths whose children are chosen names, not keys.
    pub(super) fn chosen_names(&self) -> ChosenNames {
        let paths = self.tables.iter().flat_map(|table| table.chosen_names).copied();
        let of_slots = self.tables.iter().filter(|table| table.has_slots).map(|table| table.name);
        ChosenNames::new(paths, of_slots)
    }

    /// Returns the keys that name a file of settings.
    pub(super) fn settings_files(&self) -> Vec<&'static str> {
        self.tables.iter().flat_map(|table| table.settings_files).copied().collect()
    }
}
