//! What the tests and benchmarks share: a host to test, guests to host, servers to depend on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

pub mod artifact;
pub mod baseline;
pub mod child;
pub mod growth;
pub mod guests;
pub mod host;
pub mod models;
pub mod operator;
pub mod parts;
pub mod pulled;
pub mod samples;
pub mod servers;
pub mod signer;

pub use host::TestHost;
