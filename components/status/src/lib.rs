//! The status component: what monitoring reads of an appointment system, from raw figures.
//!
//! Everything but `guest` is plain Rust that knows no WIT: figures go in, and the payload's JSON, findings on
//! health or metric families come out. Where figures come from, and how old they may be, is the host's business.

pub mod error;
#[cfg(target_family = "wasm")]
mod guest;
pub mod health;
pub mod json;
pub mod metrics;
pub mod payload;
pub mod self_test;
pub mod version;
