//! The host's capabilities say exactly what the WIT says, and the page of interfaces says the same.

use std::collections::BTreeSet;

use bulkhead::{
    capabilities::{Access, Interface as Offered},
    config::slots::SlotSpec,
    services::list,
};
use wit_parser::{InterfaceId, Resolve, WorldItem};

use super::{
    pages::{quoted, table},
    wit,
};

/// The world that keeps the deprecated names.
const DEPRECATED: &str = "host/deprecated";
/// The page with the tables of interfaces.
const PAGE: &str = "wit/README.md";

/// Every interface of the host.
fn offered() -> impl Iterator<Item = &'static Offered> {
    let interfaces: Vec<_> = list::capabilities().interfaces().collect();
    interfaces.into_iter()
}

/// The interface of `wit/` with this name and version.
fn in_wit(resolve: &Resolve, wanted: &str) -> InterfaceId {
    let mut interfaces = resolve.interfaces.iter().map(|(id, _)| id);
    let found = interfaces.find(|id| resolve.id_of(*id).as_deref() == Some(wanted));
    found.unwrap_or_else(|| panic!("wit/ has no {wanted}"))
}

fn functions_in_wit(resolve: &Resolve, offered: &Offered) -> BTreeSet<String> {
    let interface = &resolve.interfaces[in_wit(resolve, &format!("{offered:?}"))];
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
    let deprecated = list::capabilities().deprecated().iter().map(|deprecated| deprecated.name);
    let names: Vec<&str> = offered.iter().copied().chain(deprecated).collect();
    assert_eq!(names, list::spec().interfaces);
    for slot in list::spec().slots() {
        for granted in slot.grants {
            assert!(offered.contains(granted), "slot {} is granted {granted}, which is not offered", slot.id);
        }
    }
}

#[test]
fn stub_is_offered_by_grant_alone() {
    let stubs: Vec<&str> = list::capabilities().stubs().map(|stub| stub.name).collect();
    assert_eq!(stubs, list::spec().stubs);
    assert!(stubs.contains(&"wasi:filesystem/types") && stubs.contains(&"wasi:sockets/tcp"), "{stubs:?}");
    assert!(offered().all(|offered| !offered.is_general || !stubs.contains(&offered.name)));
}

/// A shadow run is given the reads; a write that is marked a read would happen twice.
#[test]
fn what_changes_something_is_marked_a_write() {
    let writes = offered().flat_map(|offered| {
        let writes = offered.functions.iter().filter(|(_, access)| *access == Access::Write);
        writes.map(|(function, _)| format!("{}#{function}", offered.name))
    });
    let expected = [
        "bulkhead:captcha/ledger#claim",
        "bulkhead:captcha/ledger#record-failure",
        "bulkhead:captcha/ledger#record-visit",
        "bulkhead:host/llm#complete",
        "wasi:http/outgoing-handler#handle",
        "wasi:keyvalue/atomics#increment",
        "wasi:keyvalue/batch#delete-many",
        "wasi:keyvalue/batch#set-many",
        "wasi:keyvalue/store#[method]bucket.delete",
        "wasi:keyvalue/store#[method]bucket.set",
        "wasi:logging/logging#log",
    ];
    assert_eq!(writes.collect::<BTreeSet<_>>(), expected.map(str::to_owned).into());
}

#[test]
fn interfaces_are_offered_once() {
    let names: BTreeSet<_> = offered().map(|offered| offered.name).collect();
    assert_eq!(names.len(), offered().count());
}

/// A deprecated name is linked to the functions of the name that replaces it.
#[test]
fn deprecated_names_have_the_current_types() {
    let (resolve, set) = (wit::everything(), list::capabilities());
    for deprecated in set.deprecated() {
        let now = set.find(deprecated.name).unwrap_or_else(|| panic!("{deprecated:?} leads nowhere"));
        let contents = |name: &str| wit::contents(&resolve, in_wit(&resolve, name));
        assert_eq!(contents(&format!("{deprecated:?}")), contents(&format!("{now:?}")), "{deprecated:?}");
    }
    let (_, world) = wit::worlds(&resolve).into_iter().find(|(name, _)| name == DEPRECATED).unwrap();
    let imports = resolve.worlds[world].imports.keys();
    let kept: BTreeSet<String> = imports.map(|key| resolve.name_world_key(key)).collect();
    assert_eq!(kept, set.deprecated().iter().map(|deprecated| format!("{deprecated:?}")).collect());
}

/// A component built for a slot's world runs there without a grant in the configuration.
#[test]
fn slot_has_grants_for_its_world() {
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
            let now = list::capabilities().named_now(&import);
            assert!(
                now == import || name == DEPRECATED,
                "the world {name} imports {import}, which is deprecated; use {now}"
            );
            let offered = offered().find(|offered| format!("{offered:?}") == now);
            let types_only = matches!(item, WorldItem::Interface { id, .. } if resolve.interfaces[*id].functions.is_empty());
            let Some(offered) = offered else {
                assert!(types_only, "the world {name} imports {import}, which no capability offers");
                continue;
            };
            if let Some(slot) = slot {
                let is_granted = list::capabilities().is_granted(offered, slot, &[]);
                assert!(is_granted, "slot {} is not granted {import}", slot.id);
            }
        }
        let hosts = world.exports.is_empty();
        assert!(hosts || slot.is_some(), "the world {name} has no slot");
    }
}

#[test]
fn page_lists_every_interface_with_its_slots() {
    let mut listed = BTreeSet::new();
    for row in table(PAGE, "| interface | version | slots that have it |") {
        let slots = row[2].split(';').next().unwrap();
        for name in quoted(&row[0]) {
            let offered = offered().find(|offered| offered.name == name);
            let offered = offered.unwrap_or_else(|| panic!("{PAGE} lists {name}, which is not offered"));
            assert_eq!(slots == "all", offered.is_general, "{name}");
            let granted: BTreeSet<&str> = list::spec()
                .slots()
                .filter(|slot| slot.grants.contains(&name))
                .map(|slot| slot.id.as_str())
                .collect();
            assert_eq!(quoted(slots).collect::<BTreeSet<_>>(), granted, "{name}");
            listed.insert(format!("{name}@{}", row[1]));
        }
    }
    assert_eq!(listed, offered().map(|offered| format!("{offered:?}")).collect());
}

#[test]
fn page_lists_every_deprecated_name() {
    let set = list::capabilities();
    let row = |name: &str| vec![format!("`{name}`"), format!("`{:?}`", set.find(name).unwrap())];
    let expected: Vec<_> = set.deprecated().iter().map(|deprecated| row(deprecated.name)).collect();
    assert_eq!(table(PAGE, "| deprecated | use |"), expected);
}
