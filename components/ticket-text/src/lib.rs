//! What the components that read tickets share: the language of a text, its clean-up, the values in it, and how
//! personal ones are kept back.

pub mod clean;
pub mod cursor;
pub mod extract;
pub mod language;
pub mod redact;
pub mod window;
pub mod words;
