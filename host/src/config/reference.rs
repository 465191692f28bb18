//! The reference of all keys, from the reader itself.

use super::{load, reader::Reader};

/// One key as the reader asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// Dotted TOML path; `KEY` and `NAME` stand for chosen names, `[]` for list entries.
    pub path: String,
    /// The default as it would be written; empty when there is none.
    pub default: String,
    /// The unit or the form of the value.
    pub unit: String,
    /// What it is for, in one line.
    pub doc: &'static str,
}

/// Every key that [`load`](super::load()) takes, in reading order.
pub fn reference() -> Vec<KeyDoc> {
    let mut reader = Reader::rehearse();
    load::read(&mut reader, &load::Place::default());
    reader.into_docs()
}
