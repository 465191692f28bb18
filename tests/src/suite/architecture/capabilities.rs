//! The host's capabilities say exactly what the WIT says.

use std::collections::BTreeSet;

use bulkhead::{
    capabilities::{Access, Interface as Offered},
    config::slots::SlotSpec,
    services::{capabilities, list},
};
use wit_parser::{Resolve, WorldItem};

use super::wit;

/// Every interface of the host.
fn offered() -> impl Iterator<Item = &'static Offered> {
    let interfaces: Vec<_> = capabilities::all().interfaces().collect();
    interfaces.into_iter()
}

fn functions_in_wit(resolve: &Resolve, offered: &Offered) -> BTreeSet<String> {
    let wanted = format!("{offered:?}");
    let interfaces = resolve.interfaces.iter();
    let interface = interfaces.map(|(id, interface)| (resolve.id_of(id), interface));
    let (_, interface) = interface
        .into_iter()
        .find(|(name, _)| name.as_deref() == Some(wanted.as_str()))
        .unwrap_or_else(|| panic!("wit/ has no {wanted}"));
    interface.functions.keys().cloned().collect()
}

#[test]
fn every_function_is_in_the_table_once() {
    let resolve = wit::everything();
    for offered in offered() {
        let listed: Vec<String> = offered.functions.iter().map(|(name, _)| (*name).to_owned()).collect();
        let unique: BTreeSet<String> = listed.iter().cloned().collect();
        assert_eq!(unique.len(), listed.len(), "{offered:?} lists a function twice");
        assert_eq!(unique, functions_in_wit(&resolve, offered), "{offered:?}");
    }
}

#[test]
fn every_interface_may_be_granted() {
    let offered: Vec<&str> = offered().map(|offered| offered.name).collect();
    assert_eq!(offered, list::spec().interfaces);
    for slot in list::spec().slots() {
        for granted in slot.grants {
            assert!(offered.contains(granted), "slot {} is granted {granted}, which is not offered", slot.id);
        }
    }
}

/// A shadow run is given the reads; a write that is marked a read would happen twice.
#[test]
fn what_changes_something_is_marked_a_write() {
    let writes = offered().flat_map(|offered| {
        let writes = offered.functions.iter().filter(|(_, access)| *access == Access::Write);
        writes.map(|(function, _)| format!("{}#{function}", offered.name))
    });
    let expected = [
        "bulkhead:host/ledger#claim",
        "bulkhead:host/ledger#record-failure",
        "bulkhead:host/ledger#record-visit",
        "bulkhead:host/llm#complete",
        "wasi:logging/logging#log",
    ];
    assert_eq!(writes.collect::<BTreeSet<_>>(), expected.map(str::to_owned).into());
}

#[test]
fn interfaces_are_offered_once() {
    let names: BTreeSet<_> = offered().map(|offered| offered.name).collect();
    assert_eq!(names.len(), offered().count());
}

/// A component built for a slot's world runs there without a grant in the configuration.
#[test]
fn a_slot_is_granted_all_that_its_world_imports() {
    let resolve = wit::everything();
    for (name, id) in wit::worlds(&resolve) {
        let world = &resolve.worlds[id];
        let is_its_world = |slot: &&SlotSpec| {
            let own = format!("{0}/{0}", slot.id);
            name == own || name.starts_with(&format!("{own}-with-"))
        };
        let slot = list::spec().slots().find(is_its_world);
        for (key, item) in &world.imports {
            let import = resolve.name_world_key(key);
            let offered = offered().find(|offered| format!("{offered:?}") == import);
            let types_only = matches!(item, WorldItem::Interface { id, .. } if resolve.interfaces[*id].functions.is_empty());
            let Some(offered) = offered else {
                assert!(types_only, "the world {name} imports {import}, which no capability offers");
                continue;
            };
            if let Some(slot) = slot {
                let is_granted = capabilities::all().is_granted(offered, slot, &[]);
                assert!(is_granted, "slot {} is not granted {import}", slot.id);
            }
        }
        let hosts = world.exports.is_empty();
        assert!(hosts || slot.is_some(), "the world {name} has no slot");
    }
}
