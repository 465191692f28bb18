//! What each fuzz target does with its bytes. Two test programs hold the same code against the samples.

pub mod files;
pub mod requests;
