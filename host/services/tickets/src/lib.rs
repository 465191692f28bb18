//! The ticket service: triages tickets and answers them. It holds the service's settings, routes, capabilities, metrics and
//! subcommands, and imports the configuration of the service that it replaces.

pub mod answer;
mod author_files;
pub mod capabilities;
mod command;
pub mod config;
pub mod guard;
pub mod http;
pub mod knowledge;
pub mod llm;
pub mod metrics;
mod outbound;
pub mod service;
pub mod spec;
pub mod triage;
