//! The ticket service, which triages tickets and answers them: what clients ask it, and what is counted of it.

pub mod http;
pub mod metrics;
