//! The services of this binary: their slots, and what the platform needs to know of each.

use std::time::Duration;

use super::capabilities;
use crate::config::{
    self, HostSpec, Loaded, Problems, ServiceSpec, Sources,
    slots::{Limits, SlotId, SlotSpec},
};

/// The slot that classifies tickets.
pub const TRIAGE: SlotId = SlotId::new("triage");
/// The slot that answers tickets.
pub const ANSWER: SlotId = SlotId::new("answer");
/// The slot that reports on the appointment system.
pub const STATUS: SlotId = SlotId::new("status");
/// The slot that issues and judges captcha challenges.
pub const CAPTCHA: SlotId = SlotId::new("captcha");

/// Names of services in `[services.NAME]`.
pub mod name {
    /// Embedding.
    pub const EMBEDDING: &str = "embedding";
    /// Ticket triage and answers.
    pub const TICKETS: &str = "tickets";
    /// Appointment status.
    pub const STATUS: &str = "status";
    /// Captcha.
    pub const CAPTCHA: &str = "captcha";
}

/// Limits of the captcha slot, whose calls are short and many.
pub const CAPTCHA_LIMITS: Limits = Limits {
    // Parsing 16 KiB takes under a millisecond.
    cpu_ms: 200,
    // The proof-of-work queue is waited for within it.
    deadline: Duration::from_secs(5),
    // With 64 MiB each, at most 2 GiB.
    max_concurrent: 32,
    // Challenges are a few hundred bytes.
    response_bytes: 256 << 10,
    ..Limits::DEFAULT
};

/// Every service, in the order of operators' lists.
const SERVICES: &[ServiceSpec] = &[
    ServiceSpec { name: name::EMBEDDING, slots: &[] },
    ServiceSpec {
        name: name::TICKETS,
        slots: &[
            SlotSpec {
                id: TRIAGE,
                service: name::TICKETS,
                limits: &Limits::DEFAULT,
                grants: &[
                    "wasi:nn/errors",
                    "wasi:nn/tensor",
                    "wasi:nn/inference",
                    "wasi:nn/graph",
                    "bulkhead:host/embeddings",
                    "bulkhead:host/llm",
                    "bulkhead:host/guard",
                ],
                uses_models: true,
                component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_TRIAGE"))),
            },
            SlotSpec {
                id: ANSWER,
                service: name::TICKETS,
                limits: &Limits::DEFAULT,
                grants: &[
                    "wasi:nn/errors",
                    "wasi:nn/tensor",
                    "wasi:nn/inference",
                    "wasi:nn/graph",
                    "bulkhead:host/embeddings",
                    "bulkhead:host/search",
                    "bulkhead:host/llm",
                    "bulkhead:host/guard",
                ],
                uses_models: true,
                component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_ANSWER"))),
            },
        ],
    },
    ServiceSpec {
        name: name::STATUS,
        slots: &[SlotSpec {
            id: STATUS,
            service: name::STATUS,
            limits: &Limits::DEFAULT,
            grants: &["bulkhead:host/appointments"],
            uses_models: false,
            component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_STATUS"))),
        }],
    },
    ServiceSpec {
        name: name::CAPTCHA,
        slots: &[SlotSpec {
            id: CAPTCHA,
            service: name::CAPTCHA,
            limits: &CAPTCHA_LIMITS,
            grants: &["bulkhead:host/keys", "bulkhead:host/pow", "bulkhead:host/ledger"],
            uses_models: false,
            component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_CAPTCHA"))),
        }],
    },
];

/// Returns what a configuration of this binary is read for.
pub fn spec() -> HostSpec {
    let interfaces = capabilities::all().interfaces().map(|interface| interface.name).collect();
    HostSpec { services: SERVICES, interfaces }
}

/// Returns the component of a slot that is part of this binary, if there is one.
pub fn component(slot: SlotId) -> Option<&'static [u8]> {
    spec().slots().find(|spec| spec.id == slot).and_then(|spec| spec.component)
}

/// Reads a configuration of this binary.
///
/// # Errors
/// See [`config::load`].
pub fn load(sources: Sources) -> Result<Loaded, Problems> {
    config::load(sources, &spec())
}
