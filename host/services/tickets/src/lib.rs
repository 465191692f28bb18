//! The ticket service, which triages tickets and answers them: its settings and those of the service that it replaces,
//! what clients ask it, and what is counted of it.

pub mod answer;
pub mod capabilities;
pub mod config;
#[cfg(test)]
mod configured;
pub mod guard;
mod heads;
pub mod http;
pub mod import;
pub mod knowledge;
pub mod llm;
pub mod located;
pub mod metrics;
pub mod outbound;
pub mod service;
pub mod spec;
pub mod triage;
