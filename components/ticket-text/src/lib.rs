//! What the components that read tickets share: the language of a text, its clean-up, the values in it.

pub mod clean;
pub mod cursor;
pub mod extract;
pub mod language;
pub mod window;
pub mod words;
