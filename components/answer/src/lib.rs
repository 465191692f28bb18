//! The answer component: answers tickets from a knowledge base and decides whether a clerk must review the answer.
//!
//! All modules but `guest` are plain Rust without WIT and are tested natively.

pub mod answer;
pub mod answer_types;
pub mod extractive;
pub mod grounding;
pub mod guard;
#[cfg(target_family = "wasm")]
mod guest;
mod lists;
pub mod llm;
pub mod passage;
pub mod places;
pub mod prompts;
pub mod publication;
pub mod quotable;
pub mod references;
pub mod self_test;
pub mod signs;
pub mod statement;
pub mod terms;
pub mod wording;
pub mod yes_no;

#[cfg(test)]
mod tests {
    pub(crate) mod sample;
    mod steps;
}
