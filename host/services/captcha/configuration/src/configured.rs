//! Loads configurations of a host with this service alone, for unit tests.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{
    HostSpec, Loaded, Problems, ServiceSpec,
    tables::{ServiceTable, TableSpec},
};

use crate::{
    alias::ALIASES,
    config::{Captcha, SERVICE, management::Management},
};

/// Returns the specification of a host with this service alone, without its slot.
fn spec() -> HostSpec {
    HostSpec {
        services: vec![ServiceSpec { name: SERVICE, slots: &[] }],
        interfaces: Vec::new(),
        stubs: Vec::new(),
        tables: vec![TableSpec::of::<Captcha>(), TableSpec::of::<Management>()],
        aliases: vec![ALIASES],
    }
}

/// Loads a configuration from a text and an environment.
pub(crate) fn loaded(toml: &str, environment: &[(&str, &str)]) -> Loaded {
    bulkhead_configured::loaded(&spec(), toml, environment)
}

/// Loads a configuration and returns one of its tables.
pub(crate) fn table<T: ServiceTable>(toml: &str, environment: &[(&str, &str)]) -> T {
    loaded(toml, environment).config.table::<T>().unwrap().clone()
}

/// Returns the problems of a configuration that does not load.
pub(crate) fn refused(toml: &str, environment: &[(&str, &str)]) -> Problems {
    bulkhead_configured::refused(&spec(), toml, environment)
}

/// Asserts that each text has exactly one problem, which contains the paired words.
pub(crate) fn each_refused(cases: &[(&str, &str)]) {
    bulkhead_configured::each_refused(&spec(), cases);
}
