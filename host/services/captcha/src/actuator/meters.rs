//! Converts metric families to Micrometer's meters: dotted names, statistics by kind, merged series.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_telemetry::family::{Family, Kind};
use prometheus::proto::{Metric, MetricFamily};
use serde_json::{Number, Value, json};

/// Restricts a meter to series with this label value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    name: String,
    value: String,
}

impl Tag {
    /// Parses `NAME:VALUE`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, value) = text.split_once(':').filter(|(name, _)| !name.is_empty())?;
        Some(Self { name: name.to_owned(), value: value.to_owned() })
    }

    fn matches(&self, metric: &Metric) -> bool {
        metric.get_label().iter().any(|label| label.name() == self.name && label.value() == self.value)
    }
}

/// Returns the names of those listed meters that have series, sorted.
pub(super) fn names(listed: &[&Family], families: &[MetricFamily]) -> BTreeSet<String> {
    let exposed: BTreeSet<&str> = families.iter().map(MetricFamily::name).collect();
    let filled = |family: &&&Family| family.exposed().iter().any(|name| exposed.contains(name.as_str()));
    listed.iter().filter(filled).map(|family| family.meter_name()).collect()
}

/// Returns one listed meter over the series that have all `tags`; `None` when there is no such meter or series.
pub(super) fn meter(
    listed: &[&Family],
    families: &[MetricFamily],
    name: &str,
    tags: &[Tag],
) -> Option<Value> {
    let listed = listed.iter().find(|family| family.meter_name() == name)?;
    let exposed = listed.exposed();
    let mut columns = exposed.iter().map(|name| series(families, name, tags));
    let (main, extra) = (columns.next()?, columns.next().unwrap_or_default());
    if main.is_empty() {
        return None;
    }
    let measurements: Vec<Value> = statistics(listed, &main, &extra)
        .into_iter()
        .map(|(statistic, value)| json!({ "statistic": statistic, "value": number(value) }))
        .collect();
    let mut meter = json!({
        "name": name,
        "description": listed.help,
        "measurements": measurements,
        "availableTags": available_tags(&main, tags),
    });
    if let (Value::Object(members), false) = (&mut meter, listed.unit.is_empty()) {
        members.insert("baseUnit".into(), listed.unit.into());
    }
    Some(meter)
}

/// Returns the series of an exposed family that have all `tags`.
fn series<'a>(families: &'a [MetricFamily], name: &str, tags: &[Tag]) -> Vec<&'a Metric> {
    let found = families.iter().find(|family| family.name() == name);
    let all = found.map(MetricFamily::get_metric).unwrap_or_default();
    all.iter().filter(|metric| tags.iter().all(|tag| tag.matches(metric))).collect()
}

/// Returns the merged statistics of a family; `extra` has the maximum or age that some kinds expose too.
fn statistics(family: &Family, main: &[&Metric], extra: &[&Metric]) -> Vec<(&'static str, f64)> {
    let total = if family.unit == "seconds" { "TOTAL_TIME" } else { "TOTAL" };
    let sum = |value: fn(&Metric) -> f64| main.iter().map(|metric| value(metric)).sum::<f64>();
    let gauges = |series: &[&Metric]| series.iter().map(|m| m.get_gauge().get_value()).sum::<f64>();
    let max = || extra.iter().map(|metric| metric.get_gauge().get_value()).fold(0.0, f64::max);
    let histogram = || {
        vec![
            ("COUNT", sum(|metric| metric.get_histogram().get_sample_count() as f64)),
            (total, sum(|metric| metric.get_histogram().get_sample_sum())),
        ]
    };
    match family.kind {
        Kind::Counter => vec![("COUNT", sum(|metric| metric.get_counter().get_value()))],
        Kind::Gauge => vec![("VALUE", gauges(main))],
        Kind::Histogram(_) => histogram(),
        Kind::Timer(_) => histogram().into_iter().chain([("MAX", max())]).collect(),
        Kind::Summary => vec![
            ("COUNT", sum(|metric| metric.get_summary().sample_count() as f64)),
            (total, sum(|metric| metric.get_summary().sample_sum())),
            ("MAX", max()),
        ],
        Kind::LongTask => vec![("ACTIVE_TASKS", gauges(main)), ("DURATION", gauges(extra))],
    }
}

/// Returns the label values of some series, without the labels of `tags`.
fn available_tags(series: &[&Metric], tags: &[Tag]) -> Vec<Value> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for label in series.iter().flat_map(|metric| metric.get_label()) {
        if tags.iter().all(|tag| tag.name != label.name()) {
            values.entry(label.name()).or_default().insert(label.value());
        }
    }
    values.into_iter().map(|(tag, values)| json!({ "tag": tag, "values": values })).collect()
}

/// Returns a number as JSON; NaN and infinities become text, as Spring writes them.
fn number(value: f64) -> Value {
    let text = || {
        if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
    };
    Number::from_f64(value).map_or_else(|| text().into(), Value::Number)
}
