//! The captcha service's configuration: its tables, the names and files of the Java service, and edits of sites.

pub mod alias;
pub mod config;
#[cfg(test)]
mod configured;
pub mod edit;
pub mod import;
mod spring;
