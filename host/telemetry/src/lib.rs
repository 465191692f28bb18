//! Metrics and log lines of the host, as plain types.
//!
//! [`catalog`] lists the platform's metrics. Each service brings its own [`MetricSet`], which this crate does not know.

pub mod accept;
pub mod bounds;
pub mod catalog;
pub mod exposition;
pub mod family;
pub mod logs;
pub mod metrics;
mod openmetrics;
pub mod series;
pub mod timestamp;

pub use logs::{escape_guest, guest_lines, one_line, quoted, shortened};
pub use metrics::{MetricSet, Metrics, SlotMetrics, VersionLabels};
