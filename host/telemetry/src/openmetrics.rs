//! Writes OpenMetrics 1.0.0 text of the metric families of `prometheus`, which writes text 0.0.4 only.
//!
//! Format: the OpenMetrics specification, version 1.0.0, section "Text format". What differs from 0.0.4: a counter's
//! family has no `_total`, a gauge `*_info` that is always 1 becomes an info, units are in `# UNIT`, help escapes
//! quotes, bounds are written as floats, and `# EOF` ends it all.

use std::fmt::Write as _;

use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType};

/// The media type with its parameters.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Units that our names may end in.
const UNITS: [&str; 3] = ["seconds", "milliseconds", "bytes"];

/// Writes metric families; those without series are left out.
pub fn encode(families: &[MetricFamily]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.get_metric().is_empty()) {
        let (kind, name) = kind_and_name(family);
        header(&mut text, kind, name, family.help());
        for metric in family.get_metric() {
            samples(&mut text, kind, name, metric);
        }
    }
    text.push_str("# EOF\n");
    text
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Counter,
    Gauge,
    Info,
    Histogram,
    Summary,
    Unknown,
}

fn kind_and_name(family: &MetricFamily) -> (Kind, &str) {
    let name = family.name();
    let always_1 = || family.get_metric().iter().all(|metric| metric.get_gauge().get_value() == 1.0);
    match family.get_field_type() {
        MetricType::COUNTER => (Kind::Counter, name.strip_suffix("_total").unwrap_or(name)),
        MetricType::GAUGE => match name.strip_suffix("_info") {
            Some(base) if always_1() => (Kind::Info, base),
            _ => (Kind::Gauge, name),
        },
        MetricType::HISTOGRAM => (Kind::Histogram, name),
        MetricType::SUMMARY => (Kind::Summary, name),
        MetricType::UNTYPED => (Kind::Unknown, name),
    }
}

fn header(text: &mut String, kind: Kind, name: &str, help: &str) {
    let type_name = match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Info => "info",
        Kind::Histogram => "histogram",
        Kind::Summary => "summary",
        Kind::Unknown => "unknown",
    };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "# TYPE {name} {type_name}");
    let last = name.rsplit('_').next().unwrap_or(name);
    if kind != Kind::Info && last != name && UNITS.contains(&last) {
        let _ = writeln!(text, "# UNIT {name} {last}");
    }
    if !help.is_empty() {
        let _ = write!(text, "# HELP {name} ");
        escape(text, help);
        text.push('\n');
    }
}

fn samples(text: &mut String, kind: Kind, name: &str, metric: &Metric) {
    let labels = metric.get_label();
    let mut line = |suffix, extra, value| sample(text, (name, suffix), labels, extra, value);
    match kind {
        Kind::Counter => line("_total", None, metric.get_counter().get_value()),
        Kind::Gauge | Kind::Unknown => line("", None, metric.get_gauge().get_value()),
        Kind::Info => line("_info", None, 1.0),
        Kind::Histogram => {
            let histogram = metric.get_histogram();
            let count = histogram.get_sample_count() as f64;
            let bounded = histogram.get_bucket().iter().filter(|b| b.upper_bound().is_finite());
            for bucket in bounded {
                let count = bucket.cumulative_count() as f64;
                line("_bucket", Some(("le", bucket.upper_bound())), count);
            }
            line("_bucket", Some(("le", f64::INFINITY)), count);
            line("_sum", None, histogram.get_sample_sum());
            line("_count", None, count);
        }
        Kind::Summary => {
            let summary = metric.get_summary();
            for quantile in summary.get_quantile() {
                line("", Some(("quantile", quantile.quantile())), quantile.value());
            }
            line("_sum", None, summary.sample_sum());
            line("_count", None, summary.sample_count() as f64);
        }
    }
}

fn sample(
    text: &mut String,
    (name, suffix): (&str, &str),
    labels: &[LabelPair],
    extra: Option<(&str, f64)>,
    value: f64,
) {
    text.push_str(name);
    text.push_str(suffix);
    let mut separator = '{';
    for label in labels {
        let _ = write!(text, "{separator}{}=\"", label.name());
        escape(text, label.value());
        text.push('"');
        separator = ',';
    }
    if let Some((label, bound)) = extra {
        let _ = write!(text, "{separator}{label}=\"{}\"", float(bound));
        separator = ',';
    }
    if separator == ',' {
        text.push('}');
    }
    let _ = writeln!(text, " {}", number(value));
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}

/// Formats a bound: always with a decimal point, so that `1` and `1.0` are one series.
fn float(value: f64) -> String {
    if value.is_finite() && value.fract() == 0.0 { format!("{value:.1}") } else { number(value) }
}

fn escape(text: &mut String, value: &str) {
    for char in value.chars() {
        match char {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use prometheus::{Registry, core::Collector};

    use super::*;
    use crate::{
        family::{Family, Kind as Listed},
        series::{Cell, Series, Summary},
    };

    fn text(family: Family, fill: impl FnOnce(&Registry, &'static Family)) -> String {
        let registry = Registry::new();
        fill(&registry, Box::leak(Box::new(family)));
        encode(&registry.gather())
    }

    fn series<T: Cell, const N: usize>(registry: &Registry, family: &'static Family) -> Series<T, N> {
        Series::register(family, registry).unwrap()
    }

    #[test]
    fn counter_loses_total_in_family_only() {
        let family = Family {
            name: "log_dropped_bytes_total",
            kind: Listed::Counter,
            unit: "bytes",
            labels: &["slot"],
            help: "Say \"how\" \\ why\nlong",
        };
        let written = text(family, |registry, family| {
            series::<prometheus::IntCounter, 1>(registry, family).get(["a\"\\\nb"]).inc_by(3);
        });
        let expected = r#"# TYPE log_dropped_bytes counter
# UNIT log_dropped_bytes bytes
# HELP log_dropped_bytes Say \"how\" \\ why\nlong
log_dropped_bytes_total{slot="a\"\\\nb"} 3
# EOF
"#;
        assert_eq!(written, expected);
    }

    #[test]
    fn a_histogram_ends_in_infinity() {
        let family = Family {
            name: "call_seconds",
            kind: Listed::Histogram(&[0.25, 1.0]),
            unit: "seconds",
            labels: &["slot"],
            help: "h",
        };
        let written = text(family, |registry, family| {
            let histogram = series::<prometheus::Histogram, 1>(registry, family).get(["x"]);
            histogram.observe(0.5);
            histogram.observe(4.0);
        });
        let expected = r#"# TYPE call_seconds histogram
# UNIT call_seconds seconds
# HELP call_seconds h
call_seconds_bucket{slot="x",le="0.25"} 0
call_seconds_bucket{slot="x",le="1.0"} 1
call_seconds_bucket{slot="x",le="+Inf"} 2
call_seconds_sum{slot="x"} 4.5
call_seconds_count{slot="x"} 2
# EOF
"#;
        assert_eq!(written, expected);
    }

    #[test]
    fn a_summary_is_followed_by_its_maximum() {
        let family = Family {
            name: "wait_milliseconds",
            kind: Listed::Summary,
            unit: "milliseconds",
            labels: &[],
            help: "h",
        };
        let written = text(family, |registry, family| {
            series::<Summary, 0>(registry, family).get([]).observe(7.5);
        });
        let expected = "# TYPE wait_milliseconds summary
# UNIT wait_milliseconds milliseconds
# HELP wait_milliseconds h
wait_milliseconds_sum 7.5
wait_milliseconds_count 1
# TYPE wait_milliseconds_max gauge
# HELP wait_milliseconds_max h
wait_milliseconds_max 7.5
# EOF
";
        assert_eq!(written, expected);
    }

    #[test]
    fn infos_and_odd_numbers() {
        let family = Family { name: "build_info", kind: Listed::Gauge, unit: "", labels: &["v"], help: "h" };
        let written = text(family, |registry, family| {
            series::<prometheus::Gauge, 1>(registry, family).get(["1"]).set(1.0);
        });
        assert_eq!(written, "# TYPE build info\n# HELP build h\nbuild_info{v=\"1\"} 1\n# EOF\n");

        let gauge = prometheus::Gauge::new("seconds", "h").unwrap();
        for (value, line) in [(f64::NAN, "NaN"), (f64::INFINITY, "+Inf"), (f64::NEG_INFINITY, "-Inf")] {
            gauge.set(value);
            let expected = format!("# TYPE seconds gauge\n# HELP seconds h\nseconds {line}\n# EOF\n");
            assert_eq!(encode(&gauge.collect()), expected);
        }
    }

    #[test]
    fn families_without_series_are_left_out() {
        assert_eq!(encode(&[MetricFamily::default()]), "# EOF\n");
    }
}
