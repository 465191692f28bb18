//! Builds what runs in a host: components, examples in other languages and the apps of the suite.

pub mod components;
pub mod examples;
pub mod manifest;
