//! A page of metrics, where a series that does not exist is never read as 0.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
};

use bulkhead::{
    services::list,
    telemetry::family::{Family, Kind},
};

/// Labels whose values are known only once something happens.
const OPEN: [&str; 7] = ["difficulty", "path", "route", "status", "uri", "url", "version"];
/// Labels whose values are configured: those that are known at the start are closed.
const CONFIGURED: [&str; 4] = ["model", "pool", "site", "slot"];
/// A gauge without a series as long as its figure is unknown.
const UNKNOWN_AT_FIRST: &str = "bulkhead_slot_generation{";

/// Every sample of a page in Prometheus' text format, `name{labels}` to value.
#[derive(Debug)]
pub struct Samples(BTreeMap<String, f64>);

impl Deref for Samples {
    type Target = BTreeMap<String, f64>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Samples {
    /// Reads a page.
    pub fn parse(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let samples = samples.map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        });
        Self(samples.collect())
    }

    /// The value of a series, which must exist.
    pub fn value(&self, series: &str) -> f64 {
        self.find(series).unwrap_or_else(|| {
            let name = split(series).0;
            let known: Vec<_> = self.keys().filter(|known| split(known).0 == name).collect();
            panic!("no series {series}; of this family there are {known:#?}")
        })
    }

    /// The value of a series that may come later. Its family and its labels must be those of this binary.
    pub fn find(&self, series: &str) -> Option<f64> {
        let (name, labels) = split(series);
        let listed =
            list::metric_families().into_iter().find_map(|family| Some((family, suffix(family, name)?)));
        let (family, suffix) = listed.unwrap_or_else(|| panic!("no family of this binary exposes {name}"));
        let mut known: BTreeSet<&str> = family.labels.iter().copied().collect();
        known.extend((suffix == "_bucket").then_some("le"));
        let named: BTreeSet<&str> = labels.iter().map(|(label, _)| *label).collect();
        assert_eq!(named, known, "labels of {series}");
        self.get(series).copied()
    }

    /// The series that are exposed under `name`; there must be some.
    pub fn of(&self, name: &str) -> Vec<(&str, f64)> {
        let series = self.iter().filter(|(series, _)| split(series).0 == name);
        let series: Vec<_> = series.map(|(series, value)| (series.as_str(), *value)).collect();
        assert!(!series.is_empty(), "there is no series of {name}");
        series
    }

    /// Whether there is a series under `name`.
    pub fn exposes(&self, name: &str) -> bool {
        self.keys().any(|series| split(series).0 == name)
    }

    /// Asserts that what has appeared since `start` could not have been there then: each new series has a label whose
    /// value was not known. All others must begin at 0 with the host, so that a rate sees the first event.
    pub fn assert_new_series_are_of_open_labels(&self, start: &Self) {
        let known: BTreeSet<(&str, &str)> = start.keys().flat_map(|series| split(series).1).collect();
        let is_open = |(label, value): &(&str, &str)| {
            OPEN.contains(label) || (CONFIGURED.contains(label) && !known.contains(&(*label, *value)))
        };
        let late = self.keys().filter(|series| !start.contains_key(*series));
        let late = late.filter(|series| !series.starts_with(UNKNOWN_AT_FIRST));
        let late: Vec<_> = late.filter(|series| !split(series).1.iter().any(is_open)).collect();
        assert!(late.is_empty(), "series that are not there from the start: {late:#?}");
    }
}

/// A series' name and its labels with their values.
fn split(series: &str) -> (&str, Vec<(&str, &str)>) {
    let Some((name, labels)) = series.split_once('{') else { return (series, Vec::new()) };
    let labels = labels.strip_suffix("\"}").unwrap_or_else(|| panic!("{series} is not a series"));
    let labels = labels
        .split("\",")
        .map(|text| text.split_once("=\"").unwrap_or_else(|| panic!("{text} is not a label in {series}")));
    (name, labels.collect())
}

/// What `name` has after the name of `family`, when the family is exposed so.
fn suffix<'a>(family: &Family, name: &'a str) -> Option<&'a str> {
    let suffix = name.strip_prefix(family.name)?;
    let suffixes: &[&str] = match family.kind {
        Kind::Counter | Kind::Gauge => &[""],
        Kind::Histogram(_) => &["_bucket", "_sum", "_count"],
        Kind::Timer(_) => &["_bucket", "_sum", "_count", "_max"],
        Kind::Summary => &["_sum", "_count", "_max"],
        Kind::LongTask => &["_sum", "_count"],
    };
    suffixes.contains(&suffix).then_some(suffix)
}
