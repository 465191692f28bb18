//! Tests of the metric families of the whole binary.

use std::collections::{BTreeSet, HashMap};

use prometheus::{
    Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use super::super::*;
use crate::{
    llm::metrics::LLM_TIME,
    services::tickets::metrics::{ANSWER_TIME, TICKET_REQUEST_TIME, TRIAGE_TIME},
    telemetry::{MetricSet, family::Kind},
};

fn metrics() -> Metrics {
    let metrics = Metrics::new("/".into(), [CAPTCHA]).unwrap();
    register_metrics(&metrics).unwrap();
    metrics
}

/// A collector with the descriptions of a family. A registry refuses the second one of a family.
struct DuplicateFamily(Vec<Desc>);

impl Collector for DuplicateFamily {
    fn desc(&self) -> Vec<&Desc> {
        self.0.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        Vec::new()
    }
}

/// Registers every family of the binary once more, and asserts that the registry has each as it is listed.
struct Again;

impl MetricSet for Again {
    const FAMILIES: &'static [&'static Family] = &[];

    fn register(registry: &Registry) -> prometheus::Result<Self> {
        for family in metric_families() {
            let labels: Vec<String> = family.labels.iter().map(|label| (*label).to_owned()).collect();
            for name in family.exposed() {
                let desc = Desc::new(name.clone(), family.help.to_owned(), labels.clone(), HashMap::new())?;
                let second = registry.register(Box::new(DuplicateFamily(vec![desc])));
                assert!(second.is_err(), "{name} is listed and not registered as listed");
            }
        }
        Ok(Self)
    }
}

#[test]
fn registered_families_are_the_listed_ones() {
    let metrics = metrics();
    metrics.set::<Again>().unwrap();
    let listed: Vec<String> = metric_families().iter().flat_map(|family| family.exposed()).collect();
    for family in metrics.gather() {
        assert!(listed.iter().any(|name| name == family.name()), "{}", family.name());
    }
}

#[test]
fn host_knows_the_listed_families() {
    let names = |families: Vec<&'static Family>| -> Vec<_> {
        families.into_iter().map(|family| family.name).collect()
    };
    assert_eq!(names(metrics().families()), names(metric_families()));
}

#[test]
fn names_are_unique_under_both_schemes() {
    let families = metric_families();
    let exposed: Vec<String> = families.iter().flat_map(|family| family.exposed()).collect();
    assert_eq!(exposed.iter().collect::<BTreeSet<_>>().len(), exposed.len());
    let meters: BTreeSet<String> = families.iter().map(|family| family.meter_name()).collect();
    assert_eq!(meters.len(), families.len());
}

#[test]
fn names_follow_their_type_and_unit() {
    // Those are named as in text-embeddings-inference.
    for family in metric_families().into_iter().filter(|family| !family.name.starts_with("te_")) {
        let counter = family.kind == Kind::Counter;
        assert_eq!(family.name.ends_with("_total"), counter, "{}", family.name);
        let base = family.name.trim_end_matches("_total");
        assert!(base.ends_with(family.unit), "{} lacks its unit", family.name);
    }
}

/// `slots.NAME.deadline_ms`, `tickets.llm.timeout_ms`: ten minutes at most.
#[test]
fn long_operations_have_long_buckets() {
    fn reaches(bounds: &[f64]) -> bool {
        bounds.is_sorted() && bounds.contains(&20.0) && bounds.last() == Some(&600.0)
    }
    for family in [&TICKET_REQUEST_TIME, &TRIAGE_TIME, &ANSWER_TIME, &LLM_TIME] {
        let is_long = matches!(family.kind, Kind::Histogram(bounds) if reaches(bounds));
        assert!(is_long, "{}: {:?}", family.name, family.kind);
    }
}
