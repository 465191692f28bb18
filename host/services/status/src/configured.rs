//! Configurations of this service alone, for unit tests.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{HostSpec, Loaded, tables::ServiceTable};
use bulkhead_service::Service as _;

use crate::service::StatusPlugin;

/// Returns what a configuration of a host with this service alone is read for.
fn spec() -> HostSpec {
    HostSpec {
        services: vec![StatusPlugin.spec()],
        interfaces: Vec::new(),
        tables: StatusPlugin.tables().to_vec(),
        aliases: vec![StatusPlugin.aliases()],
    }
}

/// Returns the configuration that a text and an environment make.
pub(crate) fn loaded(toml: &str, environment: &[(&str, &str)]) -> Loaded {
    bulkhead_configured::loaded(&spec(), toml, environment)
}

/// Returns one table of it.
pub(crate) fn table<T: ServiceTable>(toml: &str, environment: &[(&str, &str)]) -> T {
    loaded(toml, environment).config.table::<T>().unwrap().clone()
}

/// Asserts that each text has exactly one problem, which contains the words beside it.
pub(crate) fn each_refused(cases: &[(&str, &str)]) {
    bulkhead_configured::each_refused(&spec(), cases);
}
