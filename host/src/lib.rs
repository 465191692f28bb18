//! Bulkhead, a WebAssembly component host: one binary serves ticket triage and answers, appointment
//! status and captcha over HTTP; the logic of each runs in a sandboxed component.
//!
//! The library is the host itself, for the binary and for tests. A module may use only those below it,
//! and those to its right; a test reads this list and fails on any other arrow:
//!
//! ```text
//! cli, host            the command line; the host as one thing
//! admin                operators
//! services             what clients ask over HTTP, and what slots are asked for it in typed WIT records
//! service              what a service is to the host, and what it is started with
//! deploy               how versions come to answer: push, swap, canary, roll back
//! invoke               one call
//! slots                which version answers
//! capabilities         what a guest may ask for
//! knowledge            what answers come from, searched by words and meaning
//! inference            loaded models and the threads that embed with them
//! llm, guard, outbound  a language model and a guard, over HTTP
//! registry             components from OCI registries
//! storage, pow         the ledger's databases; proof-of-work threads
//! appointments         the appointment system's database
//! sandbox, compile, engine, keys, background, pool
//! http                 listeners, what every request passes, what answers are made of
//! telemetry, config, clock, files
//! ```

pub mod cli;
pub mod host;
pub mod services;

pub use bulkhead_admin as admin;
pub use bulkhead_appointments as appointments;
pub use bulkhead_config as config;
pub use bulkhead_http as http;
pub use bulkhead_ledger as storage;
pub use bulkhead_models as inference;
pub use bulkhead_os::clock;
pub use bulkhead_os::files;
pub use bulkhead_pow as pow;
pub use bulkhead_rollout as deploy;
pub use bulkhead_rollout::registry;
pub use bulkhead_runtime::background;
pub use bulkhead_runtime::capabilities;
pub use bulkhead_runtime::compile;
pub use bulkhead_runtime::engine;
pub use bulkhead_runtime::invoke;
pub use bulkhead_runtime::keys;
pub use bulkhead_runtime::sandbox;
pub use bulkhead_runtime::slots;
pub use bulkhead_service as service;
pub use bulkhead_telemetry as telemetry;
pub use bulkhead_tickets_service::guard;
pub use bulkhead_tickets_service::knowledge;
pub use bulkhead_tickets_service::llm;
pub use host::Host;
