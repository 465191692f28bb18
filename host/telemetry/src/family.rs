//! Describes a metric family: its names in Prometheus and Micrometer, its type, unit and labels.

use prometheus::proto::{Gauge, Metric, MetricFamily, MetricType};

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only rises; the name ends in `_total`.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Observations by size, with the buckets' upper bounds.
    Histogram(&'static [f64]),
    /// A histogram of times, and the greatest of the last two minutes as a gauge `NAME_max`.
    Timer(&'static [f64]),
    /// Count and sum of observations, and the greatest of the last two minutes as a gauge `NAME_max`.
    Summary,
    /// Work in progress: how many as a gauge `NAME_count`, their ages added up as a gauge `NAME_sum`.
    LongTask,
}

/// Name of the label that names a slot.
pub(crate) const SLOT_LABEL: &str = "slot";

/// A metric family.
#[derive(Debug)]
pub struct Family {
    /// Prometheus' name, with unit and `_total`.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Unit as the name spells it, empty for a plain number.
    pub unit: &'static str,
    /// Label names.
    pub labels: &'static [&'static str],
    /// One line for `# HELP`.
    pub help: &'static str,
}

/// Makes a static `Family` of each entry, `NAME: kind, "name" ["label", ...] "unit", "help";`, and the list `ALL` of
/// them.
#[macro_export]
macro_rules! families {
    ($($id:ident: $kind:expr, $name:literal [$($label:literal),*] $unit:literal, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $id: $crate::family::Family = $crate::family::Family {
                name: $name,
                kind: $kind,
                unit: $unit,
                labels: &[$($label),*],
                help: $help,
            };
        )*

        /// Every family of this list.
        pub const ALL: &[&$crate::family::Family] = &[$(&$id),*];
    };
}

pub use families;

impl Family {
    /// Returns the names under which the family is exposed, each a separate family in an exposition.
    pub fn exposed(&self) -> Vec<String> {
        match self.kind {
            Kind::Counter | Kind::Gauge | Kind::Histogram(_) => vec![self.name.to_owned()],
            Kind::Summary | Kind::Timer(_) => vec![self.name.to_owned(), format!("{}_max", self.name)],
            Kind::LongTask => vec![format!("{}_count", self.name), format!("{}_sum", self.name)],
        }
    }

    /// Returns Micrometer's name: Prometheus' name without `_total` and unit, with dots
    /// (`jvm_memory_used_bytes` is `jvm.memory.used`).
    pub fn meter_name(&self) -> String {
        let name = self.name.strip_suffix("_total").unwrap_or(self.name);
        let name = match self.unit {
            "" => name,
            unit => name.strip_suffix(unit).and_then(|n| n.strip_suffix('_')).unwrap_or(name),
        };
        name.replace('_', ".")
    }

    /// Turns collected series into the families of [`Self::exposed`], in that order.
    ///
    /// A summary's and a timer's series carry their maximum as quantile 1, a long task's count and age as a
    /// summary's count and sum.
    pub fn expose(&self, series: Vec<Metric>) -> Vec<MetricFamily> {
        let columns = match self.kind {
            Kind::Counter => vec![(MetricType::COUNTER, series)],
            Kind::Gauge => vec![(MetricType::GAUGE, series)],
            Kind::Histogram(_) => vec![(MetricType::HISTOGRAM, series)],
            Kind::Timer(_) => {
                let max = gauges(&series, greatest);
                vec![(MetricType::HISTOGRAM, series), (MetricType::GAUGE, max)]
            }
            Kind::Summary => {
                let max = gauges(&series, greatest);
                let series = series.into_iter().map(without_quantiles).collect();
                vec![(MetricType::SUMMARY, series), (MetricType::GAUGE, max)]
            }
            Kind::LongTask => {
                let count = gauges(&series, |metric| metric.get_summary().sample_count() as f64);
                let sum = gauges(&series, |metric| metric.get_summary().sample_sum());
                vec![(MetricType::GAUGE, count), (MetricType::GAUGE, sum)]
            }
        };
        let named = self.exposed().into_iter().zip(columns);
        named.map(|(name, (kind, metrics))| self.family(name, kind, metrics)).collect()
    }

    fn family(&self, name: String, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
        let mut family = MetricFamily::default();
        family.set_name(name);
        family.set_help(self.help.to_owned());
        family.set_field_type(kind);
        family.set_metric(metrics);
        family
    }
}

/// Returns a gauge for each of `series`, with the same labels.
fn gauges(series: &[Metric], value: impl Fn(&Metric) -> f64) -> Vec<Metric> {
    let gauge = |metric: &Metric| {
        let mut gauge = Gauge::default();
        gauge.set_value(value(metric));
        let mut metric_gauge = Metric::from_gauge(gauge);
        metric_gauge.set_label(metric.get_label().to_vec());
        metric_gauge
    };
    series.iter().map(gauge).collect()
}

/// Returns the maximum that a series carries as quantile 1.
fn greatest(metric: &Metric) -> f64 {
    metric.get_summary().get_quantile().first().map_or(0.0, |quantile| quantile.value())
}

fn without_quantiles(mut metric: Metric) -> Metric {
    let mut summary = metric.get_summary().clone();
    summary.set_quantile(Vec::new());
    metric.set_summary(summary);
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &'static str, unit: &'static str) -> Family {
        Family { name, kind: Kind::Gauge, unit, labels: &[], help: "" }
    }

    #[test]
    fn meter_names_drop_total_and_unit() {
        let cases = [
            ("shop_events_total", "", "shop.events"),
            ("shop_client_wait_time_milliseconds", "milliseconds", "shop.client.wait.time"),
            ("http_server_requests_seconds", "seconds", "http.server.requests"),
            ("jvm_memory_used_bytes", "bytes", "jvm.memory.used"),
            ("jvm_threads_live_threads", "threads", "jvm.threads.live"),
            ("process_threads", "", "process.threads"),
            ("bulkhead_guest_log_dropped_bytes_total", "bytes", "bulkhead.guest.log.dropped"),
        ];
        for (name, unit, meter) in cases {
            assert_eq!(named(name, unit).meter_name(), meter);
        }
    }
}
