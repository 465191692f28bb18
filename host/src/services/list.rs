//! The services of this binary: their slots, and what the platform needs to know of each.

#[cfg(test)]
pub(in crate::services) mod tests;

use std::time::Duration;

use super::{
    capabilities,
    captcha::{
        self,
        config::{Captcha, management::Management},
        metrics::CaptchaMetrics,
    },
    embedding::{self, metrics::EmbeddingMetrics},
    status::{self, config::Status},
    tickets::{config::Tickets, metrics::TicketMetrics},
};
use crate::{
    config::{
        self, HostSpec, Loaded, Problems, ServiceSpec, Sources,
        alias::Aliases,
        slots::{Limits, SlotId, SlotSpec},
        tables::TableSpec,
    },
    guard::metrics::GuardMetrics,
    inference::{config::Embedding, metrics::InferenceMetrics},
    llm::metrics::LlmMetrics,
    telemetry::{MetricSet, Metrics, catalog, family::Family},
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
    pub const CAPTCHA: &str = crate::services::captcha::config::SERVICE;
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
                    "bulkhead:answer/search",
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
            grants: &["bulkhead:status/appointments"],
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
            grants: &["bulkhead:host/keys", "bulkhead:captcha/pow", "bulkhead:captcha/ledger"],
            uses_models: false,
            component: Some(include_bytes!(env!("BULKHEAD_COMPONENT_CAPTCHA"))),
        }],
    },
];

/// A set of metrics of this binary: its families, and how a host registers it.
struct Registrar {
    families: &'static [&'static Family],
    register: fn(&Metrics) -> prometheus::Result<()>,
}

impl Registrar {
    const fn of<T: MetricSet>() -> Self {
        Self { families: T::FAMILIES, register: |metrics| metrics.set::<T>().map(drop) }
    }
}

/// Every set of metrics that the platform does not know. The families of the appointment system, `zms_*`, are not among
/// them: the status component makes those, and they have a page of their own.
static METRIC_SETS: [Registrar; 6] = [
    Registrar::of::<InferenceMetrics>(),
    Registrar::of::<LlmMetrics>(),
    Registrar::of::<GuardMetrics>(),
    Registrar::of::<CaptchaMetrics>(),
    Registrar::of::<EmbeddingMetrics>(),
    Registrar::of::<TicketMetrics>(),
];

/// Tables of the services, in reading order.
const TABLES: &[TableSpec] = &[
    TableSpec::of::<Embedding>(),
    TableSpec::of::<Tickets>(),
    TableSpec::of::<Captcha>(),
    TableSpec::of::<Status>(),
    TableSpec::of::<Management>(),
];

/// Names of the services that this binary replaces.
const ALIASES: &[Aliases] = &[captcha::alias::ALIASES, embedding::alias::ALIASES, status::alias::ALIASES];

/// Returns what a configuration of this binary is read for.
pub fn spec() -> HostSpec {
    let interfaces = capabilities::all().names().collect();
    HostSpec { services: SERVICES, interfaces, tables: TABLES, aliases: ALIASES }
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

/// Registers the metrics of every service, also of those that are off: each family exists from the start.
///
/// # Errors
/// Only when the list of families is at fault.
pub fn register_metrics(metrics: &Metrics) -> prometheus::Result<()> {
    METRIC_SETS.iter().try_for_each(|set| (set.register)(metrics))
}

/// Returns every metric family of this binary: those of the platform, then those of services.
pub fn metric_families() -> Vec<&'static Family> {
    let mut families = catalog::ALL.to_vec();
    families.extend(METRIC_SETS.iter().flat_map(|set| set.families));
    families
}
