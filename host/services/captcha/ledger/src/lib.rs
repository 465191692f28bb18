//! The captcha ledger: counts visits of clients and spent challenges. SQLite by default, PostgreSQL
//! by URL, memory for tests and benches.
//!
//! The tables `captcha_request` and `invalidated_payload` are those of the Java service, and a PostgreSQL database of
//! that service is taken over as it is; everything else is stored in our own tables, prefixed `bulkhead_`. Predicates
//! compare exactly, so that they use the indexes.
//!
//! * A claim is atomic and durable before it is granted: one group-committed writer on SQLite, an advisory
//!   lock on the challenge on PostgreSQL. Every host that shares the database counts alike; Java nodes that share
//!   it take no lock, so a claim is exact among our hosts only.
//! * Visits are written in batches, and count from memory until then: a power cut loses at most the last second.
//!   Among several hosts a visit counts elsewhere once it is written. On SQLite, where one host alone writes, all visits
//!   inside the window count from memory; what is not there is read from the file.
//! * Every wait is bounded: a call waits [`ANSWER_TIMEOUT`] for an answer, unless the options say otherwise.
//!   While a PostgreSQL server cannot be reached, calls are refused at once until a probe reaches it.
//! * PostgreSQL's clock decides what has expired there. On one host a time of day that goes backward grants nothing
//!   twice.

mod deadline;
mod error;
mod high_water;
mod ledger;
mod load;
mod memory;
mod memory_fallback;
mod options;
mod outage;
mod outage_log;
mod pace;
mod pool;
mod postgres;
mod records;
mod schema;
mod sqlite;
mod store;
mod sweep;
mod tasks;
mod visits;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

pub use deadline::ANSWER_TIMEOUT;
pub use error::StorageError;
pub use ledger::Ledger;
pub use load::{Load, Solve, is_solve_time};
pub use options::{Backend, LedgerOptions};
pub use pool::{PoolStats, Timing};
pub use records::{COUNT_CEILING, MAX_LIMIT, Rows, SITE_KEY_BYTES, SKEW, Swept, Visits};
