//! Describes the services of a binary and their slots, independent of any configuration.

use std::fmt;

use super::{limits::Limits, slot_id::SlotId};

/// A slot as the service that owns it describes it, independent of any configuration.
#[derive(Clone, Copy)]
pub struct SlotSpec {
    /// Its id.
    pub id: SlotId,
    /// Name of the service that owns it, as in `[services.NAME]`.
    pub service: &'static str,
    /// Limits where the configuration sets none.
    pub limits: &'static Limits,
    /// Interfaces beyond the general ones that its component may import without a grant in the configuration.
    pub grants: &'static [&'static str],
    /// Whether its component uses models where the configuration names none.
    pub uses_models: bool,
    /// The embedded component, which is part of the binary, if there is one.
    pub component: Option<&'static [u8]>,
}

impl fmt::Debug for SlotSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the bytes of the component.
        f.debug_struct("SlotSpec").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A service, independent of any configuration.
#[derive(Clone, Copy, Debug)]
pub struct ServiceSpec {
    /// Its name in `[services.NAME]`.
    pub name: &'static str,
    /// Its slots.
    pub slots: &'static [SlotSpec],
}

/// The services of a host, and the interfaces that their components may import.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offers<'o> {
    pub(crate) services: &'o [ServiceSpec],
    /// Names of interfaces, which grants may name.
    pub(crate) interfaces: &'o [&'static str],
    /// Names of stubs, which need no grant.
    pub(crate) stubs: &'o [&'static str],
}

impl<'o> Offers<'o> {
    /// Returns the slots of all services.
    pub(crate) fn slots(self) -> impl Iterator<Item = &'static SlotSpec> + use<'o> {
        self.services.iter().flat_map(|service| service.slots)
    }
}
