//! What the components that read tickets share: the language of a text, its clean-up, the values in it, how personal
//! ones are kept back, and what other machines are asked about it.

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
