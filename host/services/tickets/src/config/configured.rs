//! Configurations of a host with only this service, for unit tests.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{HostSpec, Loaded, Problems, tables::TableSpec};
use bulkhead_models::config::EmbeddingSettings;
use bulkhead_service::Service as _;

use crate::service::TicketsPlugin;

/// Returns what a configuration of a host with this service alone is read for. The classifier is one of `[embedding]`.
fn spec() -> HostSpec {
    let tables =
        [TableSpec::of::<EmbeddingSettings>()].into_iter().chain(TicketsPlugin.tables().iter().copied());
    HostSpec {
        services: vec![TicketsPlugin.spec()],
        interfaces: Vec::new(),
        stubs: Vec::new(),
        tables: tables.collect(),
        aliases: vec![TicketsPlugin.aliases()],
    }
}

/// Returns the configuration of a text and an environment.
pub(crate) fn loaded(toml: &str, environment: &[(&str, &str)]) -> Loaded {
    bulkhead_configured::loaded(&spec(), toml, environment)
}

/// Returns the problems of a configuration.
pub(crate) fn refused(toml: &str, environment: &[(&str, &str)]) -> Problems {
    bulkhead_configured::refused(&spec(), toml, environment)
}

/// Asserts that each text has exactly one problem, which contains the paired words.
pub(crate) fn each_refused(cases: &[(&str, &str)]) {
    bulkhead_configured::each_refused(&spec(), cases);
}
