//! What is measured: a module a subject.

pub mod apps;
pub mod calls;
pub mod captcha;
pub mod embedding;
pub mod http;
pub mod parsers;
pub mod start;
pub mod status;
pub mod swap;
pub mod tickets;
