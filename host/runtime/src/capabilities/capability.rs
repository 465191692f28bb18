//! The trait of a capability, and the set of capabilities that a host offers.

use std::{fmt, sync::Arc};

use bulkhead_config::slots::SlotSpec;
use wasmtime::component::{Linker, LinkerInstance};

use super::StoreData;

/// Whether a function only reads, or also changes something that outlives the call. A shadow call is
/// answered its reads and makes none of its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads.
    Read,
    /// Changes something.
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
    /// Every function, with its kind of access.
    pub functions: &'static [(&'static str, Access)],
    /// Adds every function to an instance of the linker, under whatever name that is imported. Fails when the instance has
    /// them already.
    pub add_to_linker: fn(&mut LinkerInstance<'_, StoreData>) -> wasmtime::Result<()>,
}

impl fmt::Debug for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// A name under which an interface was offered before. It is linked to the same implementation, so that a component that
/// was built before still answers.
#[derive(Clone, Copy)]
pub struct Deprecated {
    /// `package:name/interface`, without its version.
    pub name: &'static str,
    /// The version offered under this name.
    pub version: &'static str,
    /// Name of the interface that is to be used instead, without its version.
    pub instead: &'static str,
}

impl fmt::Debug for Deprecated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// An interface that every slot may import without a grant, and that reaches nothing outside the call: runtimes of
/// languages import it whether their programs call it or not.
pub struct Stub {
    /// `package:name/interface`, without its version.
    pub name: &'static str,
    /// The version offered; the linker accepts any that semver calls compatible.
    pub version: &'static str,
    /// Adds every function to an instance of the linker. Fails when the instance has them already.
    pub add_to_linker: fn(&mut LinkerInstance<'_, StoreData>) -> wasmtime::Result<()>,
}

impl fmt::Debug for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// The stubs that are more than that where a slot has [`BODIES`].
const STREAMS: [&str; 2] = ["wasi:io/error", "wasi:io/streams"];
/// The interface whose bodies are read and written through streams.
const BODIES: &str = "wasi:http/types";

/// A capability: related interfaces, which guests may import where their slot is granted them.
///
/// - The state that the calls of a slot share is in its [`SlotResources`](super::SlotResources), under a type of the
///   capability's own. A slot whose resources lack it answers with an error of the interface.
/// - The state of one call is in its [`Capabilities`](super::Capabilities): values behind handles count against the memory
///   of the call, see [`HostResource`](super::HostResource).
/// - A function that changes something is listed as a write and runs through [`ShadowMode`](super::ShadowMode), so that a
///   shadow call changes nothing.
pub trait Capability: Send + Sync {
    /// Returns the interfaces that it implements, each with all its functions.
    fn interfaces(&self) -> &'static [Interface];
}

/// The capabilities of a host, in the order in which their interfaces are listed.
#[derive(Clone, Default)]
pub struct CapabilitySet {
    capabilities: Vec<Arc<dyn Capability>>,
    deprecated: &'static [Deprecated],
    stubs: &'static [Stub],
}

impl fmt::Debug for CapabilitySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.interfaces()).finish()
    }
}

impl CapabilitySet {
    /// Adds a capability.
    #[must_use]
    pub fn with(mut self, capability: impl Capability + 'static) -> Self {
        self.capabilities.push(Arc::new(capability));
        self
    }

    /// Sets the names under which interfaces of the set were offered before.
    #[must_use]
    pub fn with_deprecated(mut self, names: &'static [Deprecated]) -> Self {
        self.deprecated = names;
        self
    }

    /// Sets the interfaces that are importable without effect.
    #[must_use]
    pub fn with_stubs(mut self, stubs: &'static [Stub]) -> Self {
        self.stubs = stubs;
        self
    }

    /// Returns the interfaces that are importable without effect. Where a slot is granted the interface of a stub's name, it
    /// has that instead.
    pub fn stubs(&self) -> impl Iterator<Item = &'static Stub> {
        self.stubs.iter()
    }

    /// Returns the stub that a slot has under a name without its version, with these grants of the configuration.
    pub fn stub(&self, name: &str, slot: &SlotSpec, grants: &[String]) -> Option<&'static Stub> {
        let stub = self.stubs.iter().find(|stub| stub.name == name)?;
        let is_granted = |interface| self.is_granted(interface, slot, grants);
        (!self.find(name).is_some_and(is_granted)).then_some(stub)
    }

    /// Returns whether what a slot imports under a name without its version is without effect: a stub, unless it is an
    /// interface of streams and the slot has bodies to stream.
    pub fn is_without_effect(&self, name: &str, slot: &SlotSpec, grants: &[String]) -> bool {
        let has_bodies = || self.find(BODIES).is_some_and(|bodies| self.is_granted(bodies, slot, grants));
        self.stub(name, slot, grants).is_some() && !(STREAMS.contains(&name) && has_bodies())
    }

    /// Returns every interface once, under the name that it has now.
    pub fn interfaces(&self) -> impl Iterator<Item = &'static Interface> {
        self.capabilities.iter().flat_map(|capability| capability.interfaces())
    }

    /// Returns the names under which interfaces were offered before.
    pub const fn deprecated(&self) -> &'static [Deprecated] {
        self.deprecated
    }

    /// Returns every name under which an interface may be imported and granted, without versions: those that interfaces
    /// have now, then those that they had before.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let before = self.deprecated.iter().map(|deprecated| deprecated.name);
        self.interfaces().map(|interface| interface.name).chain(before)
    }

    /// Returns the entry of a name without its version under which an interface was offered before.
    pub(crate) fn deprecation(&self, name: &str) -> Option<&'static Deprecated> {
        self.deprecated.iter().find(|deprecated| deprecated.name == name)
    }

    /// Returns the interface that is offered under a name without its version.
    pub fn find(&self, name: &str) -> Option<&'static Interface> {
        let name = self.deprecation(name).map_or(name, |deprecated| deprecated.instead);
        self.interfaces().find(|interface| interface.name == name)
    }

    /// Returns the import of a component as it is named now, with the version that is offered; the import itself where
    /// that name is not deprecated.
    pub fn named_now(&self, import: &str) -> String {
        let name = import.split_once('@').map_or(import, |(name, _)| name);
        match self.deprecation(name).and_then(|_| self.find(name)) {
            Some(interface) => format!("{interface:?}"),
            None => import.to_owned(),
        }
    }

    /// Returns whether the components of a slot may import an interface under these grants of the configuration, which
    /// may give a name that the interface had before.
    pub fn is_granted(&self, interface: &Interface, slot: &SlotSpec, grants: &[String]) -> bool {
        let names = |grant: &str| self.find(grant).is_some_and(|named| named.name == interface.name);
        interface.is_general
            || slot.grants.iter().any(|grant| names(grant))
            || grants.iter().any(|grant| names(grant))
    }

    /// Makes the interfaces importable that a slot is granted, by its description or by these `grants` of the
    /// configuration: each under its name, and under those that it had before. Adds the stubs of the others.
    ///
    /// # Errors
    /// When two capabilities implement the same interface.
    pub fn add_to_linker(
        &self,
        linker: &mut Linker<StoreData>,
        slot: &SlotSpec,
        grants: &[String],
    ) -> wasmtime::Result<()> {
        for interface in self.interfaces().filter(|interface| self.is_granted(interface, slot, grants)) {
            (interface.add_to_linker)(&mut linker.instance(&format!("{interface:?}"))?)?;
            for before in self.deprecated.iter().filter(|before| before.instead == interface.name) {
                (interface.add_to_linker)(&mut linker.instance(&format!("{before:?}"))?)?;
            }
        }
        for stub in self.stubs.iter().filter(|stub| self.stub(stub.name, slot, grants).is_some()) {
            (stub.add_to_linker)(&mut linker.instance(&format!("{stub:?}"))?)?;
        }
        Ok(())
    }
}
