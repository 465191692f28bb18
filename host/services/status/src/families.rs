//! Checks a component's metric families: a scraper would drop the whole page for one invalid name.

use std::collections::BTreeSet;

use bulkhead_runtime::invoke::BadAnswer;
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};

use super::world::{Family, Kind, Sample};

/// Checks the families and converts them to those of the exposition format.
///
/// # Errors
/// When a name is not valid or occurs twice, or a family has no series.
pub(super) fn checked(families: Vec<Family>) -> Result<Vec<MetricFamily>, BadAnswer> {
    let names: BTreeSet<&str> = families.iter().map(|family| family.name.as_str()).collect();
    let unique = names.len() == families.len();
    let valid = unique && families.iter().all(is_valid);
    match valid {
        true => Ok(families.into_iter().map(convert).collect()),
        false => Err(BadAnswer("a metric has no series, or a name that is not valid or occurs twice")),
    }
}

/// Checks the names and series of a family.
fn is_valid(family: &Family) -> bool {
    let series: BTreeSet<_> = family.samples.iter().map(|sample| &sample.labels).collect();
    let labels = family.samples.iter().flat_map(|sample| &sample.labels);
    let named = is_name(&family.name) && !family.samples.is_empty() && series.len() == family.samples.len();
    named && labels.into_iter().all(|(name, _)| is_name(name) && !name.starts_with("__"))
}

/// Checks a name of a metric or a label.
fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && name.len() <= 200 && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Converts a family.
fn convert(family: Family) -> MetricFamily {
    let (kind, kind_name) = match family.kind {
        Kind::Counter => (Kind::Counter, MetricType::COUNTER),
        Kind::Gauge => (Kind::Gauge, MetricType::GAUGE),
    };
    let mut out = MetricFamily::default();
    out.set_name(family.name);
    out.set_help(family.help);
    out.set_field_type(kind_name);
    out.set_metric(family.samples.into_iter().map(|sample| metric(kind, sample)).collect());
    out
}

/// Converts a sample.
fn metric(kind: Kind, sample: Sample) -> Metric {
    let label = |(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name(name);
        pair.set_value(value);
        pair
    };
    let mut metric = Metric::default();
    metric.set_label(sample.labels.into_iter().map(label).collect());
    match kind {
        Kind::Counter => {
            let mut counter = Counter::default();
            counter.set_value(sample.value);
            metric.set_counter(counter);
        }
        Kind::Gauge => {
            let mut gauge = Gauge::default();
            gauge.set_value(sample.value);
            metric.set_gauge(gauge);
        }
    }
    metric
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn family(name: &str, labels: &[&str]) -> Family {
        let sample = |label: &&str| Sample { labels: vec![((*label).into(), "ü\"".into())], value: 2.0 };
        Family {
            name: name.into(),
            help: "Help.".into(),
            kind: Kind::Gauge,
            samples: labels.iter().map(sample).collect(),
        }
    }

    #[test]
    fn valid_families_are_converted() {
        let families = checked(vec![family("zms_a", &["x"]), family("zms_b", &["x", "y"])]).unwrap();
        let names: Vec<_> = families.iter().map(MetricFamily::name).collect();
        assert_eq!(names, ["zms_a", "zms_b"]);
        assert_eq!(families.last().unwrap().get_metric().len(), 2);
    }

    #[test]
    fn invalid_families_are_rejected() {
        let twice = vec![family("zms_a", &["x"]), family("zms_a", &["y"])];
        assert!(checked(twice).is_err());
        for (name, labels) in [
            ("", &["x"][..]),
            ("1a", &["x"]),
            ("a b", &["x"]),
            ("a\n# TYPE b", &["x"]),
            ("a", &["x-y"]),
            ("a", &["__name"]),
            ("a", &[]),
            ("a", &["x", "x"]),
        ] {
            assert!(checked(vec![family(name, labels)]).is_err(), "{name:?} {labels:?}");
        }
    }
}
