//! The specification of the captcha service: its name and its slot.

use std::time::Duration;

use bulkhead_config::{
    ServiceSpec,
    slots::{Limits, SlotId, SlotSpec},
};

/// Name of the service in `[services.NAME]`.
pub const NAME: &str = "captcha";
/// The slot that issues and judges captcha challenges.
pub const CAPTCHA: SlotId = SlotId::new("captcha");

/// Limits of the captcha slot, whose calls are short and many.
pub(crate) const CAPTCHA_LIMITS: Limits = Limits {
    // Parsing 16 KiB takes under a millisecond.
    cpu_ms: 200,
    // It includes the time in the proof-of-work queue.
    deadline: Duration::from_secs(5),
    // With 64 MiB each, at most 2 GiB.
    max_concurrent: 32,
    // Challenges are a few hundred bytes.
    response_bytes: 256 << 10,
    ..Limits::DEFAULT
};

/// The service and its slot.
pub(super) const SPEC: ServiceSpec = ServiceSpec {
    name: NAME,
    slots: &[SlotSpec {
        id: CAPTCHA,
        service: NAME,
        limits: &CAPTCHA_LIMITS,
        grants: &["bulkhead:host/keys", "bulkhead:captcha/pow", "bulkhead:captcha/ledger"],
        uses_models: false,
        component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_CAPTCHA"))),
    }],
};
