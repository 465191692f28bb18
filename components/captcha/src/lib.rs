//! The captcha component: proof-of-work challenges in the ALTCHA protocol.
//!
//! All modules but `guest` are plain Rust without WIT: they reach secrets, key derivation, clocks and storage through
//! the [`host::Host`] trait and are tested natively against the protocol's known answers in `vectors/altcha.json`.

pub mod algorithm;
pub mod binding;
pub mod canonical;
pub mod challenge;
pub mod difficulty;
pub mod error;
pub mod expiry;
#[cfg(target_family = "wasm")]
mod guest;
pub mod host;
pub mod issue;
pub mod json;
pub mod policy;
pub mod self_test;
pub mod server_signature;
pub mod signing;
pub mod solution;
pub mod spending;
#[cfg(test)]
mod steps;
pub mod v1;
pub mod verdict;
pub mod verify;
