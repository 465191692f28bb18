//! The ticket service: what a decision costs beside its embedding, and what it is worth.

pub mod accuracy;
pub mod answers;
pub mod http;
pub mod retrieval;
