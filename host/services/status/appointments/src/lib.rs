//! Reads the appointment system's database, MariaDB, PostgreSQL or SQLite, and never writes to it.
//!
//! * A section of figures is collected when it is asked for and what is known is older than its time to live. The
//!   collection is waited for, so that a poll gets figures of its own time: for less than a second where older figures
//!   can be shown instead, and for less than a scrape takes where none can. After a failure there is a pause in which
//!   it is neither tried nor waited for. A section is collected once at a time, for any number of callers; of those that scan a
//!   large table one at a time, and of the others one at a time.
//! * Figures that need a column which an older release of the system does not have are left out, and not the section.
//! * There are two connections at most, so that what is quick, such as to look up an account, need not wait for a scan.
//!   Each is read-only, and the server ends a statement that runs too long.
//! * Now and midnights are those of the configured time zone and are bound as parameters, so that neither the
//!   server's clock nor its time zone matters.

mod accounts;
mod clock;
mod collector;
mod columns;
mod connection;
mod demo;
mod dialect;
mod error;
mod queries;
mod section;
mod server;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

pub use accounts::Accounts;
pub use bulkhead_status_figures::{
    Collection, Database, Department, ExternalUserIds, Figures, Lacking, Mail, Moment, Processes, Scope,
    Section, Sessions, Slots, Sources,
};
pub use clock::Clock;
pub use collector::{Collector, CollectorOptions, Snapshot};
pub use connection::DatabaseLocation;
pub use demo::{Demo, DemoError};
pub use error::CollectError;
