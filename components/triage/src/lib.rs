//! The triage component: reads a ticket's text and says what it is about.
//!
//! Everything here is plain Rust that knows no WIT and is tested natively.

pub mod clean;
pub mod features;
