//! The specification of the ticket service: its name and its slots.

use std::time::Duration;

use bulkhead_config::{
    ServiceSpec,
    slots::{Limits, SlotId, SlotSpec},
};

/// Name of the service in `[services.NAME]`.
pub const NAME: &str = "tickets";
/// The slot that classifies tickets.
pub const TRIAGE: SlotId = SlotId::new("triage");
/// The slot that answers tickets.
pub const ANSWER: SlotId = SlotId::new("answer");

/// Limits of the ticket slots.
const TICKET_LIMITS: Limits = Limits {
    // A help desk sends what came over night at once: 200 tickets wait less on two cores.
    queue_wait: Duration::from_secs(5),
    ..Limits::DEFAULT
};

/// The specification.
pub(super) const SPEC: ServiceSpec = ServiceSpec {
    name: NAME,
    slots: &[
        SlotSpec {
            id: TRIAGE,
            service: NAME,
            limits: &TICKET_LIMITS,
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
            service: NAME,
            limits: &TICKET_LIMITS,
            grants: &[
                "wasi:nn/errors",
                "wasi:nn/tensor",
                "wasi:nn/inference",
                "wasi:nn/graph",
                "bulkhead:host/embeddings",
                "bulkhead:answer/search",
                "bulkhead:answer/items",
                "bulkhead:host/llm",
                "bulkhead:host/guard",
            ],
            uses_models: true,
            component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_ANSWER"))),
        },
    ],
};
