//! The triage component: classifies tickets and decides on their action.
//!
//! All modules but `guest` are plain Rust without WIT and are tested natively.

pub mod decision;
pub mod evidence;
pub mod extraction;
#[cfg(target_family = "wasm")]
mod guest;
mod lists;
pub mod llm;
pub mod request;
pub mod rules;
pub mod self_test;
pub mod triage;

#[cfg(test)]
mod tests {
    mod steps;
}
