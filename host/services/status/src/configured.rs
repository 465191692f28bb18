//! Configurations of a host with only this service, for unit tests.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{HostSpec, Loaded, tables::ServiceTable};
use bulkhead_service::Service as _;

use crate::service::StatusPlugin;

/// Returns the specification of a host with only this service.
fn spec() -> HostSpec {
    HostSpec {
        services: vec![StatusPlugin.spec()],
        interfaces: Vec::new(),
        stubs: Vec::new(),
        tables: StatusPlugin.tables().to_vec(),
        aliases: vec![StatusPlugin.aliases()],
    }
}

/// Returns the configuration of a text and an environment.
pub(crate) fn loaded(toml: &str, environment: &[(&str, &str)]) -> Loaded {
    bulkhead_configured::loaded(&spec(), toml, environment)
}

/// Returns one table of the configuration.
pub(crate) fn table<T: ServiceTable>(toml: &str, environment: &[(&str, &str)]) -> T {
    loaded(toml, environment).config.table::<T>().unwrap().clone()
}

/// Asserts that each text has exactly one problem, which contains the paired words.
pub(crate) fn each_refused(cases: &[(&str, &str)]) {
    bulkhead_configured::each_refused(&spec(), cases);
}
