//! What every component needs of its host, whatever it does. In native builds, such as those of tests, there is no host, and
//! the crate is empty.

#[cfg(target_family = "wasm")]
mod log;

#[cfg(target_family = "wasm")]
pub use log::Log;
