//! What the configuration is read for: the services of a binary, their tables, the names of replaced services, and the
//! interfaces of the host.

use super::{
    alias::Aliases,
    spec::{ServiceSpec, SlotSpec},
    tables::TableSpec,
    tree::ChosenNames,
};

/// What a configuration is read for. Lists of services and slots are in this order.
#[derive(Clone, Debug, Default)]
pub struct HostSpec {
    /// The services of the binary.
    pub services: &'static [ServiceSpec],
    /// Names of the interfaces of the host, without their versions: `slots.NAME.grants` may name these.
    pub interfaces: Vec<&'static str>,
    /// Tables of the services, in reading order.
    pub tables: &'static [TableSpec],
    /// What services that the binary replaces call keys of it.
    pub aliases: &'static [Aliases],
}

impl HostSpec {
    /// Returns the slots of all services.
    pub fn slots(&self) -> impl Iterator<Item = &'static SlotSpec> + use<> {
        self.services.iter().flat_map(|service| service.slots)
    }

    /// Returns where names that people chose are in the place of keys.
    pub(super) fn chosen_names(&self) -> ChosenNames {
        ChosenNames::new(self.tables.iter().flat_map(|table| table.chosen_names).copied())
    }

    /// Returns the keys that name a file of settings.
    pub(super) fn settings_files(&self) -> Vec<&'static str> {
        self.tables.iter().flat_map(|table| table.settings_files).copied().collect()
    }
}
