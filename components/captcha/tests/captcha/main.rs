//! Tests of the captcha logic against a native host: known answers, and all that a client may try.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod binding;
mod issue;
mod malformed;
mod native_host;
mod payloads;
mod server_signature;
mod spending;
mod v1;
mod vectors;
mod verify;
