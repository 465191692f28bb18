//! The specification of the status service: its name and its slot.

use bulkhead_config::{
    ServiceSpec,
    slots::{Limits, SlotId, SlotSpec},
};

/// Name of the service in `[services.NAME]`.
pub const NAME: &str = "status";
/// The slot that reports on the appointment system.
pub const STATUS: SlotId = SlotId::new("status");

/// The specification.
pub(super) const SPEC: ServiceSpec = ServiceSpec {
    name: NAME,
    slots: &[SlotSpec {
        id: STATUS,
        service: NAME,
        limits: &Limits::DEFAULT,
        grants: &["bulkhead:status/appointments"],
        uses_models: false,
        component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_STATUS"))),
    }],
};
