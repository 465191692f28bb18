//! One integration binary: a module a concern.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod abuse;
mod apps;
mod architecture;
mod authors;
mod browser;
mod captcha_http;
mod conformance;
mod embedding;
mod fuzzed;
mod hostile;
mod keyvalue;
mod ledger;
mod operators;
mod own_service;
mod preflight;
mod process;
mod samples;
mod start_page;
mod status;
mod tickets;
mod toolchains;
