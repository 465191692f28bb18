//! What the host tells its operators: metrics and log lines. Plain types, no logic above them.
//!
//! Every metric name stands in one list, [`catalog`]; [`reference()`] prints it.

pub mod accept;
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
pub use metrics::{Metrics, SlotMetrics, VersionLabels};
