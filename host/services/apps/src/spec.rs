//! The specification of the service, and of the slot of an app.

use bulkhead_config::{
    ServiceSpec,
    slots::{Limits, SlotId, SlotSpec},
};

/// Name of the service in `[services.NAME]`, and of its table.
pub const NAME: &str = "apps";

/// A variable of the environment by which `run` says to the host that it becomes that there is no configuration. It sets no key:
/// variables that do begin with `BULKHEAD_`.
pub(crate) const IS_RUN: &str = "RUN_BY_BULKHEAD";

/// Limits of an app.
static APP_LIMITS: Limits = Limits {
    // Pages and their assets; a body is passed on in pieces of 32 KiB.
    response_bytes: 16 << 20,
    ..Limits::DEFAULT
};

/// The service, which has no slot of its own: apps come from the configuration.
pub(crate) const SPEC: ServiceSpec = ServiceSpec { name: NAME, slots: &[] };

/// Interfaces beyond the general ones that an app may import. What they reach, origins and stores, is listed one by one.
pub(crate) const GRANTS: &[&str] = &[
    "wasi:io/poll",
    "wasi:http/types",
    "wasi:http/outgoing-handler",
    "wasi:keyvalue/store",
    "wasi:keyvalue/atomics",
    "wasi:keyvalue/batch",
];

/// Returns the specification of the slot of an app.
pub(crate) fn slot(id: SlotId) -> SlotSpec {
    SlotSpec { id, service: NAME, limits: &APP_LIMITS, grants: GRANTS, uses_models: false, component: None }
}
