//! Bulkhead, a WebAssembly component host: one binary serves embeddings, ticket triage and answers, appointment status
//! and captcha over HTTP; the logic of each but embeddings runs in a sandboxed component.
//!
//! The library is the binary's list of services. Every other part is a crate of its own, and is named here as a module for
//! those who use the host as a library. A module may use only those below it, and those to its right; a test reads this
//! list and fails on any other arrow:
//!
//! ```text
//! services             the list of services and capabilities of this binary
//! admin                operators
//! service              the trait of a service
//! deploy, registry     how versions come to answer: push, swap, canary, roll back; OCI registries
//! invoke               one call
//! slots                which version answers
//! capabilities         what a guest may ask for
//! knowledge, llm, guard  what tickets are answered from, and who is asked
//! inference, pow       loaded models; proof-of-work threads
//! storage, appointments  databases of the captcha and of the status service
//! sandbox, compile, engine, keys, background
//! http                 listeners, what every request passes, what answers are made of
//! telemetry, config, clock, files
//! ```

pub mod services;

pub use bulkhead_admin as admin;
pub use bulkhead_appointments as appointments;
pub use bulkhead_config as config;
pub use bulkhead_http as http;
pub use bulkhead_ledger as storage;
#[cfg(feature = "inference")]
pub use bulkhead_models as inference;
pub use bulkhead_os::clock;
pub use bulkhead_os::files;
pub use bulkhead_pow as pow;
pub use bulkhead_registry as registry;
pub use bulkhead_rollout as deploy;
pub use bulkhead_runtime::background;
pub use bulkhead_runtime::capabilities;
pub use bulkhead_runtime::compile;
pub use bulkhead_runtime::engine;
pub use bulkhead_runtime::invoke;
pub use bulkhead_runtime::keys;
pub use bulkhead_runtime::sandbox;
pub use bulkhead_runtime::slots;
pub use bulkhead_server::{Distribution, Host};
pub use bulkhead_service as service;
pub use bulkhead_telemetry as telemetry;
#[cfg(feature = "inference")]
pub use bulkhead_tickets_service::guard;
#[cfg(feature = "inference")]
pub use bulkhead_tickets_service::knowledge;
#[cfg(feature = "inference")]
pub use bulkhead_tickets_service::llm;
