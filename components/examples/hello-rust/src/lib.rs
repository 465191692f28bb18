//! An example component that answers every HTTP request with a line of text.

#[cfg(target_family = "wasm")]
mod guest;

/// The body of every answer.
pub const TEXT: &str = "Hello from Rust\n";
