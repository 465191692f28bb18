//! Tests of a host's registry.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use prometheus::core::{Collector, Desc};

use super::*;
use crate::{
    exposition::Format,
    series::{SlotSeries, descs},
};

fn metrics() -> Metrics {
    Metrics::new(PathBuf::from("/"), [SlotId::new("slot")]).unwrap()
}

struct Duplicate(Vec<Desc>);

impl Collector for Duplicate {
    fn desc(&self) -> Vec<&Desc> {
        self.0.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        Vec::new()
    }
}

/// Asserts that `metrics` has registered these families as they are listed, and shows no other.
fn assert_registered(metrics: &Metrics, families: &[&Family]) {
    for family in families {
        for desc in descs(family).unwrap() {
            let name = desc.fq_name.clone();
            let duplicate = metrics.registry.register(Box::new(Duplicate(vec![desc])));
            assert!(duplicate.is_err(), "{name} is listed and not registered as listed");
        }
    }
    let listed: Vec<String> = families.iter().flat_map(|family| family.exposed()).collect();
    for family in metrics.gather() {
        assert!(listed.iter().any(|name| name == family.name()), "{}", family.name());
    }
}

#[test]
fn exactly_the_listed_families_are_registered() {
    assert_registered(&metrics(), catalog::ALL);
}

mod counted {
    crate::family::families! {
        COUNTED: crate::family::Kind::Counter, "counted_total" [] "",
            "Counted.";
    }
}

struct Counted(Series<IntCounter, 0>);

impl MetricSet for Counted {
    const FAMILIES: &'static [&'static Family] = counted::ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Series::register(&counted::COUNTED, registry).map(Self)
    }
}

#[test]
fn a_set_is_registered_once() {
    let metrics = metrics();
    assert_eq!(metrics.families().len(), catalog::ALL.len());
    metrics.set::<Counted>().unwrap().0.get([]).inc();
    metrics.set::<Counted>().unwrap().0.get([]).inc();
    let families = metrics.families();
    assert_eq!(families.len(), catalog::ALL.len() + 1);
    assert_registered(&metrics, &families);
    let text = Format::Text.encode(&metrics.gather()).unwrap();
    assert!(text.contains("counted_total 2\n"), "{text}");
}

mod by_slot {
    crate::family::families! {
        BY_SLOT: crate::family::Kind::Counter, "by_slot_total" ["kind", "slot"] "",
            "Counted by slot.";
    }
}

/// A set with a slot label, which names its series only if `NAMED`.
struct BySlot<const NAMED: bool>(Series<IntCounter, 2>);

impl<const NAMED: bool> MetricSet for BySlot<NAMED> {
    const FAMILIES: &'static [&'static Family] = by_slot::ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Series::register(&by_slot::BY_SLOT, registry).map(Self)
    }

    fn slot_series(&self) -> Vec<&dyn SlotSeries> {
        if NAMED { vec![&self.0] } else { Vec::new() }
    }
}

#[test]
fn removed_slot_has_no_series_in_sets() {
    let metrics = metrics();
    let set = metrics.set::<BySlot<true>>().unwrap();
    let gone = SlotId::new("gone");
    metrics.add_slot(gone);
    for labels in [["gone", "slot"], ["slot", "gone"], ["gone", "gone"]] {
        set.0.get(labels).inc();
    }
    metrics.remove_slot(gone);
    let text = Format::Text.encode(&metrics.gather()).unwrap();
    assert!(text.contains("by_slot_total{kind=\"gone\",slot=\"slot\"} 1\n"), "{text}");
    assert!(!text.contains("slot=\"gone\""), "{text}");
}

#[test]
fn set_without_its_slot_series_is_refused() {
    let refused = metrics().set::<BySlot<false>>().err().unwrap().to_string();
    assert!(refused.contains("by_slot_total has a slot label"), "{refused}");
}

#[test]
fn hosts_in_one_process_keep_apart() {
    let (one, other) = (metrics(), metrics());
    one.compile_cache("hit");
    assert_eq!(other.compile_cache.get(["hit"]).get(), 0);
}

#[test]
fn hooks_run_at_every_scrape() {
    let metrics = metrics();
    metrics.before_scrape(|metrics| metrics.set_pool_slots(PoolKind::Stacks, 3));
    let text = Format::Text.encode(&metrics.gather()).unwrap();
    assert!(text.contains("bulkhead_pool_slots_in_use{kind=\"stacks\"} 3\n"), "{text}");
}

/// Checks what `promtool check metrics` requires: help and type once, before a family's lines.
#[test]
fn the_text_is_well_formed() {
    let metrics = metrics();
    for format in Format::ALL {
        let text = format.encode(&metrics.gather()).unwrap();
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let mut family = "";
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# ") {
                let (word, rest) = rest.split_once(' ').unwrap();
                family = rest.split(' ').next().unwrap();
                if word == "TYPE" {
                    *seen.entry(family).or_default() += 1;
                }
            } else {
                assert!(line.starts_with(family), "{line} under {family}");
                assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(seen.values().all(|count| *count == 1), "{seen:?}");
        assert!(seen.len() > 30);
    }
}
