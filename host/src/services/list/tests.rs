//! Tests of the binary's list of services: its arguments, files for authors, keys, tables, problems, metrics and start page.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod arguments;
mod author_files;
mod metrics;
mod problems;
mod reference;
mod start_page;
mod tables;

use super::{load, spec};
use crate::config::{Loaded, Problems};

/// Reads a configuration of this binary from a text and an environment.
pub(in crate::services) fn loaded(toml: &str, environment: &[(&str, &str)]) -> Loaded {
    bulkhead_configured::loaded(&spec(), toml, environment)
}

/// Returns the problems of a configuration of this binary.
pub(in crate::services) fn refused(toml: &str, environment: &[(&str, &str)]) -> Problems {
    bulkhead_configured::refused(&spec(), toml, environment)
}

/// Asserts that each text has exactly one problem, which contains the words.
pub(in crate::services) fn each_refused(cases: &[(&str, &str)]) {
    bulkhead_configured::each_refused(&spec(), cases);
}
