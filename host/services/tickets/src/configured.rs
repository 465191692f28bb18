//! Configurations of this service alone, for unit tests.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{HostSpec, Loaded, Problems, ServiceSpec, alias::Aliases};
use bulkhead_service::Service as _;

use crate::{service::TicketsPlugin, spec::SPEC};

static SERVICES: [ServiceSpec; 1] = [SPEC];
static NAMES: [Aliases; 1] = [Aliases::NONE];

/// Returns what a configuration of a host with this service alone is read for.
fn spec() -> HostSpec {
    HostSpec { services: &SERVICES, interfaces: Vec::new(), tables: TicketsPlugin.tables(), aliases: &NAMES }
}

/// Returns the configuration that a text and an environment make.
pub(crate) fn loaded(toml: &str, environment: &[(&str, &str)]) -> Loaded {
    bulkhead_configured::loaded(&spec(), toml, environment)
}

/// Returns the problems of one.
pub(crate) fn refused(toml: &str, environment: &[(&str, &str)]) -> Problems {
    bulkhead_configured::refused(&spec(), toml, environment)
}

/// Asserts that each text has exactly one problem, which contains the words beside it.
pub(crate) fn each_refused(cases: &[(&str, &str)]) {
    bulkhead_configured::each_refused(&spec(), cases);
}
