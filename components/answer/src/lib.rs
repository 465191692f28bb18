//! The answer component: says what a knowledge base knows of a ticket, in whose words, and whether a clerk must read
//! it first.
//!
//! Everything here is plain Rust that knows no WIT and is tested natively.

pub mod answer;
pub mod asked;
pub mod calendar;
pub mod extractive;
pub mod grounding;
pub mod guard;
#[cfg(target_family = "wasm")]
mod guest;
pub mod llm;
pub mod passage;
pub mod prompts;
pub mod publication;
pub mod references;
#[cfg(test)]
mod sample;
pub mod self_test;
pub mod sentences;
pub mod statement;
#[cfg(test)]
mod steps;
pub mod terms;
pub mod wording;
