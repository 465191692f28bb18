//! The pages say what is so: tables, examples and links.

use std::collections::BTreeSet;

use bulkhead::{config::slots::SlotName, services::triage::Rules};
use bulkhead_tests::host::load;
use serde_json::Value;

use super::root;

const BEGIN: &str = "<!-- config reference -->\n";
const END: &str = "<!-- end of config reference -->\n";
/// Where the key reference is.
const REFERENCE: &str = "host/config/REFERENCE.md";
/// Where the triage configuration is described.
const TICKETS: &str = "host/services/tickets/README.md";

/// The text of a page.
fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn the_table_of_settings_is_the_one_that_the_host_prints() {
    let page = page(REFERENCE);
    let (_, rest) = page.split_once(BEGIN).unwrap();
    let (table, _) = rest.split_once(END).unwrap();
    let rows = bulkhead::config::reference()
        .into_iter()
        .map(|key| format!("| `{}` | {} | {} | {} |", key.path, key.default, key.unit, key.doc));
    let head = ["| key | default | unit | meaning |", "| --- | --- | --- | --- |"].map(str::to_owned);
    let printed: Vec<String> = head.into_iter().chain(rows).collect();
    let written: Vec<&str> = table.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        written, printed,
        "put the output of `bulkhead config reference` between the markers of {REFERENCE}"
    );
}

/// The names that the reference gives for NAME in `table.NAME`.
fn listed(page: &str, table: &str) -> Vec<String> {
    let (_, rest) = page.split_once(&format!("`{table}.NAME` is one of ")).unwrap();
    let end = rest.find([';', '.']).unwrap();
    rest[..end].split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn every_slot_and_service_is_named() {
    let page = page(REFERENCE);
    assert_eq!(listed(&page, "slots"), SlotName::ALL.map(SlotName::as_str));
    let services = listed(&page, "services");
    assert_eq!(services.len(), 4);
    for name in services {
        let text = format!("data_dir = \"/data\"\nservices.{name}.path_prefix = \"/x\"");
        load(&text, Vec::new(), Vec::new()).unwrap();
    }
}

/// All names of members in `value`.
fn members(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| members(item, names)),
        Value::Object(table) => {
            for (name, item) in table {
                names.insert(name.clone());
                members(item, names);
            }
        }
        _ => {}
    }
}

#[test]
fn the_triage_configuration_loads_and_shows_every_member() {
    let page = page(TICKETS);
    let (_, rest) = page.split_once("<!-- triage configuration -->\n```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let rules = Rules::parse(example).unwrap_or_else(|invalid| panic!("{invalid}"));
    assert_eq!(rules.configuration().without_examples().count(), 0);
    let mut names = BTreeSet::new();
    members(&serde_json::from_str(rules.json()).unwrap(), &mut names);
    let shown: BTreeSet<&str> =
        example.split(|char: char| !char.is_ascii_alphanumeric() && char != '_').collect();
    let missing: Vec<&String> = names.iter().filter(|name| !shown.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "the triage configuration of {TICKETS} does not show {missing:?}");
}
