//! One integration binary: a module a concern.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod browser;
mod architecture;
mod captcha_http;
mod conformance;
mod hostile;
mod ledger;
mod preflight;
