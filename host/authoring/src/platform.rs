//! What a binary offers to components, as data.

use bulkhead_config::slots::{SLOTS, SlotId, SlotSpec};
use bulkhead_runtime::{
    capabilities::CapabilitySet,
    engine::ComponentLimits,
    slots::{Contract, ServedWorld, SlotWorld},
};

/// The slots, worlds and capabilities of a binary.
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
    /// The capabilities that guests may import.
    pub capabilities: CapabilitySet,
}

impl AuthorPlatform {
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
