//! What the host tells its operators: metrics and log lines. Plain types, no logic above them.
//!
//! The platform's metrics are listed in [`catalog`]. Services bring a [`MetricSet`] each, and are not known here.
//! [`reference()`] prints a list.

pub mod accept;
pub mod bounds;
pub mod catalog;
pub mod exposition;
pub mod family;
pub mod logs;
pub mod metrics;
pub mod openmetrics;
pub mod series;
pub mod timestamp;

pub use catalog::reference;
pub use logs::{escape_guest, guest_lines, one_line, quoted, shortened};
pub use metrics::{MetricSet, Metrics, SlotMetrics, VersionLabels};
