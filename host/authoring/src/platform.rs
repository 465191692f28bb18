//! What a binary offers to components, as data.

#[cfg(test)]
pub(crate) mod tests;

use bulkhead_config::slots::{SLOTS, SlotId, SlotSpec};
use bulkhead_runtime::{
    capabilities::CapabilitySet,
    engine::ComponentLimits,
    slots::{AuthorFiles, Contract, EmbeddedFile, ServedWorld, SlotWorld},
};

use crate::embedded::{TEMPLATES, WIT};

/// The slots, worlds, files and capabilities of a binary.
#[derive(Clone, Debug)]
pub struct AuthorPlatform {
    /// Name of the binary, for the commands in texts.
    pub name: &'static str,
    /// The slots of its services.
    pub slots: Vec<SlotSpec>,
    /// The worlds of these slots.
    pub worlds: Vec<SlotWorld>,
    /// The worlds whose components need no slot.
    pub served: Vec<ServedWorld>,
    /// The WIT and the templates of its services.
    pub files: Vec<AuthorFiles>,
    /// The capabilities that guests may import.
    pub capabilities: CapabilitySet,
}

impl AuthorPlatform {
    /// Returns the files of every WIT package, those of services included.
    pub(crate) fn wit(&self) -> impl Iterator<Item = &'static EmbeddedFile> {
        WIT.iter().chain(self.files.iter().flat_map(|files| files.wit))
    }

    /// Returns the files of every template, those of services included.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &'static EmbeddedFile> {
        TEMPLATES.iter().chain(self.files.iter().flat_map(|files| files.templates))
    }

    /// Returns the description of a slot.
    pub(crate) fn slot(&self, id: SlotId) -> Option<&SlotSpec> {
        self.slots.iter().find(|slot| slot.id == id)
    }

    /// Returns what a slot without a configuration requires of components of a world.
    pub(crate) fn contract(&self, slot: SlotSpec, world: &SlotWorld) -> Contract<'_> {
        Contract {
            slot,
            table: SLOTS,
            world: world.name,
            exports: world.exports,
            grants: &[],
            limits: ComponentLimits::DEFAULT,
            capabilities: &self.capabilities,
        }
    }
}
