//! Tests of slots that a service configures in a table of its own.

use super::slot;
use crate::{
    HostSpec, ServiceSpec,
    reader::Reader,
    reference,
    slots::{Limits, SlotId, SlotSettings, SlotSpec},
    tables::{Context, ServiceTable, TableSpec},
};

/// A table with a slot under each chosen name.
#[derive(Clone, Debug)]
struct Kiosks {
    slots: Vec<SlotSettings>,
}

impl ServiceTable for Kiosks {
    const NAME: &'static str = "kiosks";
    const CHOSEN_NAMES: &'static [&'static str] = &["kiosks", "kiosks.*.config"];
    const HAS_SLOTS: bool = true;

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let slots = reader.named_tables(Self::NAME, "NAME", |r, name| {
            let any = slot("any", "shop", &Limits::DEFAULT);
            let id = context.slot_id("shop", name).unwrap_or_else(|text| {
                r.problem("", text);
                any.id
            });
            context.slot(r, SlotSpec { id, ..any }, Self::NAME)
        });
        Self { slots: slots.into_iter().map(|(_, slot)| slot).collect() }
    }
}

fn spec() -> HostSpec {
    const SLOTS: &[SlotSpec] = &[slot("till", "shop", &Limits::DEFAULT)];
    let services =
        vec![ServiceSpec { name: "shop", slots: SLOTS }, ServiceSpec { name: "bakery", slots: &[] }];
    HostSpec { services, tables: vec![TableSpec::of::<Kiosks>()], ..HostSpec::default() }
}

#[test]
fn added_slot_has_every_slot_key() {
    let toml = "[kiosks.north]\ncpu_ms = 7\ncomponent = 'north.wasm'\n[kiosks.north.config]\nA_0 = 'x'";
    let config = super::loaded_for(&spec(), toml, &[("BULKHEAD_KIOSKS__NORTH__CPU_MS", "8")]).config;
    let north = config.slots.get(SlotId::new("north")).unwrap();
    assert_eq!((north.limits.cpu_ms, north.config["A_0"].as_str()), (8, "x"));
    assert_eq!(north.key("cpu_ms"), "kiosks.north.cpu_ms");
    assert_eq!(config.table::<Kiosks>().unwrap().slots.len(), 1);
    assert_eq!(config.slots.ids().map(SlotId::as_str).collect::<Vec<_>>(), ["till"]);
    assert_eq!(config.slots.all().map(|slot| slot.id().as_str()).collect::<Vec<_>>(), ["till", "north"]);
}

#[test]
fn underscore_in_added_slot_means_dash() {
    for (toml, variable) in [
        ("", "BULKHEAD_KIOSKS__NORTH_GATE_2__CPU_MS"),
        ("[kiosks.north-gate-2]\nmax_concurrent = 3", "BULKHEAD_KIOSKS__NORTH_GATE_2__CPU_MS"),
        ("", "BULKHEAD_KIOSKS__NORTH-GATE-2__CPU_MS"),
    ] {
        let config = super::loaded_for(&spec(), toml, &[(variable, "8")]).config;
        let slots = &config.table::<Kiosks>().unwrap().slots;
        let set: Vec<_> = slots.iter().map(|slot| (slot.id().as_str(), slot.limits.cpu_ms)).collect();
        assert_eq!(set, [("north-gate-2", 8)], "{toml} {variable}");
    }
}

#[test]
fn added_slot_needs_name_of_its_own() {
    super::each_refused_for(
        &spec(),
        &[
            ("[kiosks.till]", "kiosks.till: has the name of a slot of this host"),
            ("[kiosks.access]", "kiosks.access: is a name that the audit log of the host uses"),
            ("[kiosks.bakery]", "kiosks.bakery: has the name of a service of this host"),
            ("[kiosks.North]", "kiosks.North: must begin with a lower-case letter"),
            (
                "[kiosks.north]\ncomponent = 'oci://registry.example/north:1'",
                "line 2: kiosks.north.component: registry registry.example is not allowed",
            ),
            ("[kiosks.north]\ncpu_m = 1", "line 2: kiosks.north.cpu_m: unknown key; did you mean cpu_ms"),
        ],
    );
}

#[test]
fn slot_over_limit_may_stay_for_another() {
    // With the slot of the service there are 65.
    let kiosks: String = (0..64).map(|number| format!("[kiosks.k{number:02}]\n")).collect();
    let refused = "kiosks.k63: comes after 64 slots in the order of names, and a host takes no more";
    super::each_refused_for(&spec(), &[(kiosks.as_str(), refused)]);
}

#[test]
fn reference_has_keys_of_added_slots() {
    let paths: Vec<String> = reference(&spec()).into_iter().map(|doc| doc.path).collect();
    for key in ["cpu_ms", "grants", "rollout.history", "signatures.policy", "watch.folder"] {
        assert!(paths.contains(&format!("kiosks.NAME.{key}")), "{key}: {paths:?}");
    }
}
