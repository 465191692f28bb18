//! Text processing for the components that read tickets: sentences, extraction, redaction, prompt injections, and
//! requests to the host's language model and guard.

pub mod calendar;
pub mod cursor;
pub mod extract;
pub mod guarding;
#[cfg(target_family = "wasm")]
pub mod host;
pub mod injection;
mod lists;
pub mod llm;
pub mod numerals;
pub mod redact;
pub mod sentences;

#[cfg(test)]
mod tests {
    mod steps;
}
