//! Alert rules for hosts: they say what they should, of series that there are.

use std::collections::BTreeSet;

use bulkhead::services::list::metric_families;

use crate::status::operations::{promtool, root};

const RULES: &str = "host/deploy/prometheus/bulkhead.rules.yml";

#[test]
fn alerts_fire_at_their_thresholds() {
    promtool("tests/data/operators", &["check", "rules", root().join(RULES).to_str().unwrap()]);
    promtool("tests/data/operators", &["test", "rules", "rules_test.yml"]);
}

#[test]
fn alerts_name_series_that_exist() {
    let rules = std::fs::read_to_string(root().join(RULES)).unwrap();
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let wanted: BTreeSet<&str> = words.filter(|word| word.starts_with("bulkhead_")).collect();
    assert!(!wanted.is_empty());
    let known: BTreeSet<&str> = metric_families().iter().map(|family| family.name).collect();
    let missing: Vec<_> = wanted.difference(&known).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
