//! Configurations of this service alone, for unit tests.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{HostSpec, Loaded, Problems, tables::ServiceTable};
use bulkhead_service::Service as _;

use crate::service::CaptchaPlugin;

/// Returns what a configuration of a host with this service alone is read for.
fn spec() -> HostSpec {
    HostSpec {
        services: vec![CaptchaPlugin.spec()],
        interfaces: Vec::new(),
        tables: CaptchaPlugin.tables().to_vec(),
        aliases: vec![CaptchaPlugin.aliases()],
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

/// Returns the problems of one.
pub(crate) fn refused(toml: &str, environment: &[(&str, &str)]) -> Problems {
    bulkhead_configured::refused(&spec(), toml, environment)
}

/// Asserts that each text has exactly one problem, which contains the words beside it.
pub(crate) fn each_refused(cases: &[(&str, &str)]) {
    bulkhead_configured::each_refused(&spec(), cases);
}
