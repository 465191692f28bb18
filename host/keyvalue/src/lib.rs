//! `wasi:keyvalue`: stores of key-value pairs that slots may open, in SQLite or PostgreSQL.
//!
//! * A slot opens the stores that its configuration lists, and no other.
//! * A store has quotas in keys and bytes. They are counted in the transaction of each write, so that no number of writers
//!   exceeds them; a write over a quota changes nothing.
//! * A write is durable and seen by every host on the database before it is answered, and so is an increment: it is atomic
//!   across hosts. A batch is one transaction.
//! * In a shadow call or a probe, writes go to an overlay that ends with the call.
//! * A guest never sees the text of a database's error; the log has it, once in ten seconds.

mod capability;
mod change;
mod config;
mod database;
mod error;
mod metrics;
mod overlay;
mod slot;
mod stores;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

pub use self::{
    capability::{KeyValueCapability, bindings},
    change::Change,
    config::{KEY_BYTES, KeyValueDatabase, KeyValueSettings, StoreSettings},
    error::KeyValueError,
    metrics::{KeyValueMetrics, SlotKeyValueMetrics},
    slot::{SlotKeyValue, StoreBucket},
    stores::{KeyPage, KeyValue},
};
