//! The Rust compiler, and the standard libraries of other targets.

pub mod rustc;
pub mod target_std;
