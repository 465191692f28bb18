//! The service and its slot.

use bulkhead_config::{
    ServiceSpec,
    slots::{Limits, SlotId, SlotSpec},
};

/// Name of the service in `[services.NAME]`.
const NAME: &str = "adder";
/// The slot whose component adds.
pub const ADDER: SlotId = SlotId::new("adder");

/// The slot that the host starts with.
pub const FIRST: SlotSpec = SlotSpec {
    id: ADDER,
    service: NAME,
    limits: &Limits::DEFAULT,
    grants: &["bulkhead:adder/counter"],
    uses_models: false,
    component: None,
};
/// The service and its slot.
pub const SPEC: ServiceSpec = ServiceSpec { name: NAME, slots: &[FIRST] };
