//! Holds a family's series: one cell of numbers for each combination of label values.
//!
//! The crate's own vectors key a series by a hash of its label values run together, so that
//! (`a1`, `0`) and (`a`, `10`) are one; here the key holds the values themselves.

mod high_water;
mod long_task;
mod summary;
mod timer;

use std::{
    collections::HashMap,
    io::Write as _,
    sync::{Arc, PoisonError, RwLock},
};

use prometheus::{
    Error, Gauge, Histogram, HistogramOpts, IntCounter, Registry, Result,
    core::{Collector, Desc, Metric},
    proto::{LabelPair, MetricFamily},
};

use crate::family::{Family, Kind, SLOT_LABEL};

pub use high_water::HighWater;
pub use long_task::{InProgress, LongTask};
pub use summary::Summary;
pub use timer::Timer;

/// Bytes of a key that most keys have at most.
const SHORT_KEY: usize = 160;

/// The numbers of one series. Clones share them.
pub trait Cell: Metric + 'static {
    /// Creates a cell for `family`; fails on a name or bucket list that Prometheus does not allow.
    fn create(family: &Family) -> Result<Self>;
}

impl Cell for IntCounter {
    fn create(family: &Family) -> Result<Self> {
        Self::new(family.name, family.help)
    }
}

impl Cell for Gauge {
    fn create(family: &Family) -> Result<Self> {
        Self::new(family.name, family.help)
    }
}

impl Cell for Histogram {
    fn create(family: &Family) -> Result<Self> {
        let (Kind::Histogram(bounds) | Kind::Timer(bounds)) = family.kind else {
            return Err(Error::Msg(format!("{} is listed without buckets", family.name)));
        };
        Self::with_opts(HistogramOpts::new(family.name, family.help).buckets(bounds.to_vec()))
    }
}

/// The series of a family with `N` labels. Clones share them.
#[derive(Clone)]
pub struct Series<T, const N: usize>(Arc<Inner<T>>);

/// The series of a family with a `slot` label, whatever their numbers are.
pub trait SlotSeries {
    /// Returns the family.
    fn family(&self) -> &'static Family;

    /// Removes the series of a slot. Cells that are held count on where nobody reads them.
    fn remove_slot(&self, slot: &str);
}

struct Inner<T> {
    family: &'static Family,
    descs: Vec<Desc>,
    /// Used where creating a cell fails although [`Series::register`] has created one.
    fallback: T,
    /// Cells by their label values, each terminated by a byte that does not occur in UTF-8.
    cells: RwLock<HashMap<Vec<u8>, Labelled<T>>>,
}

struct Labelled<T> {
    labels: Vec<LabelPair>,
    cell: T,
}

impl<T: Cell, const N: usize> Series<T, N> {
    /// Adds the family to a registry. Fails when it is there already, or has not `N` labels.
    pub fn register(family: &'static Family, registry: &Registry) -> Result<Self> {
        if family.labels.len() != N {
            return Err(Error::InconsistentCardinality { expect: N, got: family.labels.len() });
        }
        let inner =
            Inner { family, descs: descs(family)?, fallback: T::create(family)?, cells: RwLock::default() };
        let series = Self(Arc::new(inner));
        registry.register(Box::new(series.clone()))?;
        Ok(series)
    }

    /// Returns the cell for these label values, created at zero when new. Values must come from a bounded
    /// set, never from a client.
    pub fn get(&self, values: [&str; N]) -> T {
        self.with(values, T::clone)
    }

    /// Passes the cell that [`get`](Self::get) returns to `act`, without a clone of it.
    pub fn with<R>(&self, values: [&str; N], act: impl FnOnce(&T) -> R) -> R {
        with_key(&values, |key| {
            let cells = self.0.cells.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = cells.get(key) {
                return act(&found.cell);
            }
            drop(cells);
            let mut cells = self.0.cells.write().unwrap_or_else(PoisonError::into_inner);
            act(&cells.entry(key.to_vec()).or_insert_with(|| self.create(&values)).cell)
        })
    }

    /// Removes a series.
    pub fn remove(&self, values: [&str; N]) {
        let mut cells = self.0.cells.write().unwrap_or_else(PoisonError::into_inner);
        with_key(&values, |key| cells.remove(key));
    }

    fn create(&self, values: &[&str; N]) -> Labelled<T> {
        let pair = |(name, value): (&&str, &&str)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value((*value).to_owned());
            pair
        };
        let mut labels: Vec<LabelPair> = self.0.family.labels.iter().zip(values).map(pair).collect();
        labels.sort_by(|a, b| a.name().cmp(b.name()));
        let cell = T::create(self.0.family).unwrap_or_else(|_| self.0.fallback.clone());
        Labelled { labels, cell }
    }
}

impl<T: Cell, const N: usize> SlotSeries for Series<T, N> {
    fn family(&self) -> &'static Family {
        self.0.family
    }

    fn remove_slot(&self, slot: &str) {
        let is_of_slot = |pair: &LabelPair| pair.name() == SLOT_LABEL && pair.value() == slot;
        let mut cells = self.0.cells.write().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|_, labelled| !labelled.labels.iter().any(is_of_slot));
    }
}

impl<T: Cell, const N: usize> Collector for Series<T, N> {
    fn desc(&self) -> Vec<&Desc> {
        self.0.descs.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let cells = self.0.cells.read().unwrap_or_else(PoisonError::into_inner);
        let metric = |labelled: &Labelled<T>| {
            let mut metric = labelled.cell.metric();
            metric.set_label(labelled.labels.clone());
            metric
        };
        self.0.family.expose(cells.values().map(metric).collect())
    }
}

/// Returns a description for each exposed name of a family, by which a registry identifies it.
pub(super) fn descs(family: &Family) -> Result<Vec<Desc>> {
    let labels: Vec<String> = family.labels.iter().map(|label| (*label).to_owned()).collect();
    let desc = |name| Desc::new(name, family.help.to_owned(), labels.clone(), HashMap::new());
    family.exposed().into_iter().map(desc).collect()
}

/// Passes the key of these label values to `act`; a short one takes no memory.
fn with_key<R>(values: &[&str], act: impl FnOnce(&[u8]) -> R) -> R {
    let mut short = [0; SHORT_KEY];
    let mut free = short.as_mut_slice();
    let fits = values
        .iter()
        .all(|value| free.write_all(value.as_bytes()).and_then(|()| free.write_all(&[u8::MAX])).is_ok());
    let length = SHORT_KEY - free.len();
    match short.get(..length).filter(|_| fits) {
        Some(key) => act(key),
        None => {
            let parts = values.iter().flat_map(|value| [value.as_bytes(), &[u8::MAX]]);
            act(&parts.collect::<Vec<_>>().concat())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    static TWO_LABELS: Family =
        Family { name: "test_total", kind: Kind::Counter, unit: "", labels: &["site", "cost"], help: "help" };

    #[test]
    fn label_values_do_not_run_together() {
        let registry = Registry::new();
        let series = Series::<IntCounter, 2>::register(&TWO_LABELS, &registry).unwrap();
        series.get(["a1", "0"]).inc();
        series.get(["a", "10"]).inc_by(5);
        assert_eq!(series.get(["a1", "0"]).get(), 1);
        assert_eq!(registry.gather()[0].get_metric().len(), 2);
        series.remove(["a1", "0"]);
        assert_eq!(registry.gather()[0].get_metric().len(), 1);
    }

    #[test]
    fn long_label_values_find_their_cell() {
        let series = Series::<IntCounter, 2>::register(&TWO_LABELS, &Registry::new()).unwrap();
        for length in [SHORT_KEY - 3, SHORT_KEY - 2, SHORT_KEY - 1, 2 * SHORT_KEY] {
            let site = "s".repeat(length);
            series.get([&site, "0"]).inc();
            series.with([&site, "0"], IntCounter::inc);
            assert_eq!(series.get([&site, "0"]).get(), 2, "{length}");
            series.remove([&site, "0"]);
            assert_eq!(series.get([&site, "0"]).get(), 0, "{length}");
        }
    }

    #[test]
    fn a_wrong_number_of_labels_is_refused() {
        assert!(Series::<IntCounter, 1>::register(&TWO_LABELS, &Registry::new()).is_err());
    }

    #[test]
    fn a_family_is_registered_once() {
        let registry = Registry::new();
        assert!(Series::<IntCounter, 2>::register(&TWO_LABELS, &registry).is_ok());
        assert!(Series::<IntCounter, 2>::register(&TWO_LABELS, &registry).is_err());
    }
}
