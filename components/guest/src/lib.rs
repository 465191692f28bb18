//! Host functions that every component uses. Native builds, such as those of tests, have no host, and the crate is
//! empty there.

#[cfg(target_family = "wasm")]
mod log;

#[cfg(target_family = "wasm")]
pub use log::Log;
