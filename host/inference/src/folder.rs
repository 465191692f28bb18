//! A model's folder and the small JSON files in it that say what the model is.

pub mod contents;
mod json;
pub mod provenance;
