//! The specification of the embedding service: its name. It has no slots.

use bulkhead_config::ServiceSpec;

/// Name of the service in `[services.NAME]`.
pub const NAME: &str = "embedding";

/// The specification.
pub(super) const SPEC: ServiceSpec = ServiceSpec { name: NAME, slots: &[] };
