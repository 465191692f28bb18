//! Text processing for the components that read tickets: language, clean-up, extraction, redaction, and requests to
//! the host's language model and guard.

pub mod clean;
pub mod cursor;
pub mod extract;
pub mod guarding;
#[cfg(target_family = "wasm")]
pub mod host;
pub mod injection;
pub mod language;
pub mod llm;
pub mod numerals;
pub mod redact;
pub mod sentences;
#[cfg(test)]
mod steps;
pub mod tokens;
pub mod window;
pub mod words;
