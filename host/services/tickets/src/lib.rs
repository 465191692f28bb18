//! The ticket service: triages tickets and answers them. It holds the service's settings, routes, capabilities, metrics and
//! subcommands, and imports the configuration of the service that it replaces.

pub mod answer;
mod author_files;
pub mod capabilities;
mod classifiers;
mod command;
pub mod config;
#[cfg(test)]
mod configured;
pub mod guard;
pub mod http;
pub mod import;
pub mod knowledge;
mod knowledge_base;
pub mod llm;
pub mod metrics;
mod outbound;
pub mod service;
pub mod spanned_toml;
pub mod spec;
pub mod triage;
