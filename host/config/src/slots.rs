//! Reads `[slots.*]`.

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    grants,
    host_spec::HostSpec,
    reader::Reader,
    registries::{self, Reference, Registry},
    rollout::Rollout,
    signatures::Signatures,
    slot_id::MAX_SLOTS,
    watch::Watch,
};
pub use super::{limits::Limits, slot_id::SlotId, spec::SlotSpec};

/// Where a slot's component comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// The built-in component.
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

/// `[slots.NAME]`.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its specification, from the service that owns it.
    pub spec: SlotSpec,
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

impl Slot {
    /// Returns the default settings of a slot, for one that a service adds while the host runs. A configured slot has
    /// its settings in [`Slots`].
    pub fn new(spec: SlotSpec, component: ComponentSource) -> Self {
        Self {
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

    fn read(reader: &mut Reader, spec: &SlotSpec, host: &HostSpec) -> Self {
        let id = spec.id.as_str();
        // The reference has rows of its own for a slot whose defaults differ.
        let label = if *spec.limits == Limits::DEFAULT { "NAME" } else { id };
        reader.table_as(id, label, |r| Self {
            spec: *spec,
            component: r
                .key("component", "Component that answers: a file, or one of an allowed registry")
                .default_text("the one built in")
                .optional("path or oci:// reference", ComponentSource::parse)
                .unwrap_or(ComponentSource::Embedded),
            limits: Limits::read(r, spec.limits),
            grants: r
                .key("grants", "Interfaces beyond the slot's own that its component may import")
                .list("interfaces such as bulkhead:host/llm", |text| {
                    grants::parse(text, &host.interfaces, &host.stubs)
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
        })
    }
}

/// Returns what is wrong with the names of slots: an id that two slots have, or that is the name of another service.
fn name_faults(spec: &HostSpec) -> Vec<String> {
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

/// `[slots]`: every slot of the host, in the order of its services.
#[derive(Clone, Debug)]
pub struct Slots(Vec<Slot>);

impl Slots {
    pub(super) fn read(reader: &mut Reader, spec: &HostSpec) -> Self {
        let count = spec.slots().count();
        if count > MAX_SLOTS {
            reader.problem("slots", format!("has {count} slots, a host takes at most {MAX_SLOTS}"));
        }
        for text in name_faults(spec) {
            reader.problem("slots", text);
        }
        let read = |r: &mut Reader| {
            let slots = spec.slots().take(MAX_SLOTS);
            slots.map(|slot| Slot::read(r, slot, spec)).collect()
        };
        Self(reader.table("slots", read))
    }

    /// Reports each component that comes from a registry which is not allowed.
    pub(super) fn check_registries(&self, reader: &mut Reader, registries: &[Registry]) {
        for slot in self.each() {
            let ComponentSource::Registry(reference) = &slot.component else { continue };
            if let Err(text) = registries::allowed(registries, reference) {
                reader.problem(&format!("slots.{}.component", slot.id()), text);
            }
        }
    }

    /// Returns the settings of one slot, if the host has it.
    pub fn get(&self, id: SlotId) -> Option<&Slot> {
        self.each().find(|slot| slot.id() == id)
    }

    /// Returns the settings of every slot.
    pub fn each(&self) -> impl Iterator<Item = &Slot> {
        self.0.iter()
    }

    /// Returns the id of every slot.
    pub fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.each().map(Slot::id)
    }
}
