//! The triage component: reads a ticket's text and says what it is about.
//!
//! Everything here is plain Rust that knows no WIT and is tested natively.

pub mod decision;
pub mod evidence;
pub mod extraction;
#[cfg(target_family = "wasm")]
mod guest;
pub mod llm;
pub mod prompts;
pub mod reasoning;
pub mod request;
pub mod rules;
pub mod self_test;
#[cfg(test)]
mod steps;
pub mod triage;
