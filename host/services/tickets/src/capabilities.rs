//! The capabilities that the service provides to the guests of its slots.

mod call;
pub mod guard;
pub mod llm;
pub mod search;
