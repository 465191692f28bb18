//! The ticket service, which triages tickets and answers them: its settings and those of the service that it replaces,
//! what clients ask it, and what is counted of it.

pub mod config;
mod heads;
pub mod http;
pub mod import;
mod knowledge;
pub mod located;
pub mod metrics;
pub mod service;
pub mod spec;
