//! The status component: turns raw figures of an appointment system into reports for monitoring.
//!
//! All modules but `guest` are plain Rust without WIT: they take figures and return the payload's JSON, health
//! findings or metric families. The host decides where figures come from and how old they may be.

pub mod error;
#[cfg(target_family = "wasm")]
mod guest;
pub mod health;
pub mod json;
pub mod metrics;
pub mod payload;
pub mod self_test;
pub mod version;
