//! The ticket service, which triages tickets and answers them: its settings and those of the service that it replaces,
//! what clients ask it, and what is counted of it.

pub mod config;
pub mod http;
pub mod import;
pub mod located;
pub mod metrics;
