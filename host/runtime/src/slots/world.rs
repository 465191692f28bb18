//! The interface between the platform and a WIT world.

use std::future::Future;

use bulkhead_config::slots::{Limits, SlotId, SlotSpec};
use wasmtime::{Store, component::InstancePre};

use super::preflight::Contract;
use crate::{
    capabilities::{CapabilitySet, StoreData},
    engine::ComponentLimits,
};

/// What texts say in place of a name.
const NAME: &str = "name";

/// The slot of a component that no configuration names.
const UNNAMED: SlotSpec = SlotSpec {
    id: SlotId::new(NAME),
    service: NAME,
    limits: &Limits::DEFAULT,
    grants: &[],
    uses_models: false,
    component: None,
};

/// A WIT world that the components of a slot implement, through its generated bindings.
pub trait World: Sized + Send + Sync + 'static {
    /// Its name, `package:name/world@version`.
    const NAME: &'static str;
    /// The names that a component must export, with versions.
    const EXPORTS: &'static [&'static str];
    /// A linked component whose exports have been resolved.
    type Linked: Clone + Send + Sync + 'static;

    /// Resolves the exports.
    ///
    /// # Errors
    /// With wasmtime's error on the first export that is missing or of the wrong type.
    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked>;

    /// Creates an instance in `store`.
    fn instantiate(
        linked: &Self::Linked,
        store: &mut Store<StoreData>,
    ) -> impl Future<Output = wasmtime::Result<Self>> + Send;

    /// Calls the world's `self-test`.
    fn self_test(
        &self,
        store: &mut Store<StoreData>,
    ) -> impl Future<Output = wasmtime::Result<Result<(), String>>> + Send;
}

/// A world whose components need no slot that a service brings, as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedWorld {
    /// Its name, such as `wasi:http/proxy`.
    pub name: &'static str,
    /// The names that a component must export, with versions.
    pub exports: &'static [&'static str],
    /// The table of the configuration that its components are named in.
    pub table: &'static str,
    /// Interfaces beyond the general ones that its components may import.
    pub grants: &'static [&'static str],
    /// How its components are served, for people.
    pub advice: &'static str,
}

impl ServedWorld {
    /// Returns what it requires of its components where no configuration names them.
    pub fn contract<'c>(&self, capabilities: &'c CapabilitySet) -> Contract<'c> {
        let Self { name, exports, table, grants, .. } = *self;
        let slot = SlotSpec { service: table, grants, ..UNNAMED };
        let limits = ComponentLimits::DEFAULT;
        Contract { slot, table, world: name, exports, grants: &[], limits, capabilities }
    }
}

/// The world of a slot as data, for those who compare a component with the worlds of all slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotWorld {
    /// The slot.
    pub slot: SlotId,
    /// The world's name, `package:name/world@version`.
    pub name: &'static str,
    /// The names that a component must export, with versions.
    pub exports: &'static [&'static str],
}

impl SlotWorld {
    /// Returns the data of the world `W`, which the components of `slot` implement.
    pub const fn of<W: World>(slot: SlotId) -> Self {
        Self { slot, name: W::NAME, exports: W::EXPORTS }
    }
}
