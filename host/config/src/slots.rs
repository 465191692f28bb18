//! Reads `[slots.*]`.

pub mod grants;
mod limits;
pub mod rollout;
pub mod signatures;
pub mod slot_id;
mod spec;
pub mod watch;

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    reader::Reader,
    registries::{self, Reference, Registry},
};
pub use limits::Limits;
use rollout::Rollout;
use signatures::Signatures;
use slot_id::MAX_SLOTS;
pub use slot_id::SlotId;
pub(crate) use spec::Offers;
pub use spec::{ServiceSpec, SlotSpec};
use watch::Watch;

/// The table of the slots that services have from the start.
pub const SLOTS: &str = "slots";

/// Where a slot's component comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// The embedded component.
    Embedded,
    /// A file.
    File(PathBuf),
    /// An OCI registry.
    Registry(Reference),
}

impl ComponentSource {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("must not be empty".to_owned()),
            name if Reference::is_reference(name) => Reference::parse(name).map(Self::Registry),
            path => Ok(Self::File(path.into())),
        }
    }
}

/// `[slots.NAME]`, or the same keys in a table of the service that adds the slot.
#[derive(Clone, Debug)]
pub struct SlotSettings {
    /// Its specification, from the service that owns it.
    pub spec: SlotSpec,
    /// The table that its own is in, for error texts: `slots`, or one of its service.
    pub table: &'static str,
    /// Where the component comes from.
    pub component: ComponentSource,
    /// What a call may use.
    pub limits: Limits,
    /// Interfaces beyond the slot's defaults that its component may import, such as `bulkhead:host/llm`.
    pub grants: Vec<String>,
    /// Models and heads that its component may use, a model with `@` and the first characters of its weights' SHA-256
    /// to pin them; absent: the default model and heads over it.
    pub models: Option<Vec<String>>,
    /// Stores of `wasi:keyvalue` that its component may open.
    pub keyvalue: Vec<String>,
    /// Keep an instance for further calls instead of a new one for each: faster, but a call's data in memory stays for
    /// the next.
    pub reuse: bool,
    /// History, automatic rollback and circuit breaker.
    pub rollout: Rollout,
    /// Who may sign its components.
    pub signatures: Signatures,
    /// Where new components are looked for.
    pub watch: Watch,
    /// What the component reads through `wasi:config/store`, or as its environment.
    pub config: BTreeMap<String, String>,
}

impl SlotSettings {
    /// Returns the default settings of a slot, for one that a service adds while the host runs. A configured slot has
    /// its settings in [`Slots`].
    pub fn new(spec: SlotSpec, component: ComponentSource) -> Self {
        Self {
            table: SLOTS,
            component,
            limits: spec.limits.clone(),
            grants: Vec::new(),
            models: None,
            keyvalue: Vec::new(),
            reuse: false,
            rollout: Rollout::DEFAULT,
            signatures: Signatures::DEFAULT,
            watch: Watch::DEFAULT,
            config: BTreeMap::new(),
            spec,
        }
    }

    /// Returns its id.
    pub const fn id(&self) -> SlotId {
        self.spec.id
    }

    /// Returns the path of a key of the slot in the configuration.
    pub fn key(&self, name: &str) -> String {
        format!("{}.{}.{name}", self.table, self.id())
    }

    fn read(reader: &mut Reader, spec: &SlotSpec, host: Offers<'_>) -> Self {
        let id = spec.id.as_str();
        // The reference has rows of its own for a slot whose defaults differ.
        let label = if *spec.limits == Limits::DEFAULT { "NAME" } else { id };
        reader.table_as(id, label, |r| Self::read_keys(r, spec, SLOTS, host, "the embedded component"))
    }

    /// Reads the keys of a slot in the current table, which is one of `table`. `built_in` describes the component of a slot
    /// whose configuration names none.
    pub(super) fn read_keys(
        r: &mut Reader,
        spec: &SlotSpec,
        table: &'static str,
        host: Offers<'_>,
        built_in: &'static str,
    ) -> Self {
        Self {
            spec: *spec,
            table,
            component: r
                .key("component", "Component that answers: a file, or one of an allowed registry")
                .default_text(built_in)
                .optional("path or oci:// reference", ComponentSource::parse)
                .unwrap_or(ComponentSource::Embedded),
            limits: Limits::read(r, spec.limits),
            grants: r
                .key("grants", "Interfaces beyond the slot's own that its component may import")
                .list("interfaces such as bulkhead:host/llm", |text| {
                    grants::parse(text, host.interfaces, host.stubs)
                })
                .unwrap_or_default(),
            models: r
                .key("models", "Models and heads that its component may use; MODEL@SHA256 pins the weights")
                .default_text("the default model, and heads over it")
                .list("model ids or aliases", |text| Ok(text.to_owned())),
            keyvalue: r
                .key("keyvalue", "Stores of [keyvalue.stores] that its component may open")
                .default_text("none")
                .list("names of stores", |text| Ok(text.to_owned()))
                .unwrap_or_default(),
            reuse: r
                .key("reuse", "Keep instances: faster, but a call can see what an earlier one left in memory")
                .flag(false),
            rollout: Rollout::read(r),
            signatures: Signatures::read(r),
            watch: Watch::read(r),
            config: r.strings(
                "config",
                "What the component reads through `wasi:config/store`, or as its environment",
            ),
        }
    }

    /// Returns what is wrong with its component if that comes from a registry which is not allowed.
    pub(super) fn registry_fault(&self, registries: &[Registry]) -> Option<String> {
        match &self.component {
            ComponentSource::Registry(reference) => registries::allowed(registries, reference).err(),
            ComponentSource::Embedded | ComponentSource::File(_) => None,
        }
    }
}

/// Returns what is wrong with the names of slots: an id that two slots have, or that is the name of another service.
fn name_faults(spec: Offers<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, slot) in spec.slots().enumerate() {
        let (id, owner) = (slot.id, slot.service);
        if spec.slots().take(index).any(|earlier| earlier.id == id) {
            faults.push(format!("two services have a slot {id}; rename one"));
        }
        if spec.services.iter().any(|service| service.name == id.as_str() && service.name != owner) {
            faults.push(format!("the slot {id} of {owner} has the name of another service; rename it"));
        }
    }
    faults
}

/// `[slots]`: every slot that the host starts with, in the order of its services, and those that services configure in
/// tables of their own.
#[derive(Clone, Debug)]
pub struct Slots {
    fixed: Vec<SlotSettings>,
    added: Vec<SlotSettings>,
}

impl Slots {
    pub(super) fn read(reader: &mut Reader, spec: Offers<'_>) -> Self {
        let count = spec.slots().count();
        if count > MAX_SLOTS {
            reader.problem("slots", format!("has {count} slots, a host takes at most {MAX_SLOTS}"));
        }
        for text in name_faults(spec) {
            reader.problem("slots", text);
        }
        let read = |r: &mut Reader| {
            let slots = spec.slots().take(MAX_SLOTS);
            slots.map(|slot| SlotSettings::read(r, slot, spec)).collect()
        };
        Self { fixed: reader.table(SLOTS, read), added: Vec::new() }
    }

    /// Adds the slots that services configure in tables of their own.
    pub(super) fn set_added(&mut self, added: Vec<SlotSettings>) {
        self.added = added;
    }

    /// Reports each component that comes from a registry which is not allowed.
    pub(super) fn check_registries(&self, reader: &mut Reader, registries: &[Registry]) {
        for slot in self.each() {
            if let Some(text) = slot.registry_fault(registries) {
                reader.problem(&slot.key("component"), text);
            }
        }
    }

    /// Returns the settings of one slot, if the host has it or a service configures it.
    pub fn get(&self, id: SlotId) -> Option<&SlotSettings> {
        self.all().find(|slot| slot.id() == id)
    }

    /// Returns the settings of every slot, also of those that services configure in tables of their own, such as apps.
    pub fn all(&self) -> impl Iterator<Item = &SlotSettings> {
        self.fixed.iter().chain(&self.added)
    }

    /// Returns the settings of every slot that the host starts with.
    pub fn each(&self) -> impl Iterator<Item = &SlotSettings> {
        self.fixed.iter()
    }

    /// Returns the id of every slot that the host starts with.
    pub fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.each().map(SlotSettings::id)
    }
}
