//! What a capability is, and the set of capabilities that a host offers.

use std::{fmt, sync::Arc};

use wasmtime::component::Linker;

use super::Guest;
use crate::config::slots::SlotSpec;

/// Whether a function only looks or also changes something that outlives the call. A shadow run is
/// given its reads and none of its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Looks.
    Read,
    /// Changes.
    Write,
}

/// A WIT interface that the host offers.
pub struct Interface {
    /// `package:name/interface`, without its version.
    pub name: &'static str,
    /// The version offered; the linker accepts any that semver calls compatible.
    pub version: &'static str,
    /// Whether every slot may import it without a grant. Others are granted by the description of a slot or by the
    /// configuration.
    pub is_general: bool,
    /// Every function, and what it does.
    pub functions: &'static [(&'static str, Access)],
    /// Makes the interface importable. Fails when the linker has it already.
    pub add_to_linker: fn(&mut Linker<Guest>) -> wasmtime::Result<()>,
}

impl fmt::Debug for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

impl Interface {
    /// Returns whether the components of a slot may import it under these grants of the configuration.
    pub fn is_granted(&self, slot: &SlotSpec, grants: &[String]) -> bool {
        self.is_general || slot.grants.contains(&self.name) || grants.iter().any(|grant| grant == self.name)
    }
}

/// A capability: the interfaces of one subject, which guests import where their slot is granted them.
///
/// - What the calls of a slot share is in its [`SlotResources`](super::SlotResources), under a type of the
///   capability's own. A slot whose resources lack it answers with an error of the interface.
/// - What one call holds is in its [`Capabilities`](super::Capabilities): values behind handles count against the memory
///   of the call, see [`Held`](super::Held).
/// - A function that changes something is listed as a write and asks through [`Mirror`](super::Mirror), so that the
///   copy of a call changes nothing.
pub trait Capability: Send + Sync {
    /// Returns the interfaces that it implements, each with all its functions.
    fn interfaces(&self) -> &'static [Interface];

    /// Makes those of its interfaces importable that are granted.
    ///
    /// # Errors
    /// When the linker has one of them already.
    fn add_to_linker(
        &self,
        linker: &mut Linker<Guest>,
        is_granted: &dyn Fn(&Interface) -> bool,
    ) -> wasmtime::Result<()> {
        let mut granted = self.interfaces().iter().filter(|interface| is_granted(interface));
        granted.try_for_each(|interface| (interface.add_to_linker)(linker))
    }
}

/// The capabilities of a host. Lists of interfaces are in their order.
#[derive(Clone, Default)]
pub struct CapabilitySet(Vec<Arc<dyn Capability>>);

impl fmt::Debug for CapabilitySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.interfaces()).finish()
    }
}

impl CapabilitySet {
    /// Adds a capability.
    #[must_use]
    pub fn with(mut self, capability: impl Capability + 'static) -> Self {
        self.0.push(Arc::new(capability));
        self
    }

    /// Returns every interface.
    pub fn interfaces(&self) -> impl Iterator<Item = &'static Interface> {
        self.0.iter().flat_map(|capability| capability.interfaces())
    }

    /// Makes the interfaces importable that a slot is granted, by its description or by these `grants` of the
    /// configuration.
    ///
    /// # Errors
    /// When two capabilities implement the same interface.
    pub fn add_to_linker(
        &self,
        linker: &mut Linker<Guest>,
        slot: &SlotSpec,
        grants: &[String],
    ) -> wasmtime::Result<()> {
        let is_granted = |interface: &Interface| interface.is_granted(slot, grants);
        self.0.iter().try_for_each(|capability| capability.add_to_linker(linker, &is_granted))
    }
}
