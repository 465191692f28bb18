//! The triage component: reads a ticket's text and says what it is about.
//!
//! Everything here is plain Rust that knows no WIT and is tested natively.

pub mod clean;
pub mod configuration;
pub mod decision;
pub mod evidence;
pub mod extract;
pub mod features;
pub mod language;
pub mod preparser;
pub mod reasoning;
pub mod rules;
pub mod triage;
pub mod window;
