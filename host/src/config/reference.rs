//! The reference of all keys, from the reader itself.

use super::{load, reader::Reader, spec::HostSpec};

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

/// Every key that [`load`](super::load()) takes for a host with the services of `spec`, in reading order. A key of
/// slots is there once, and its default names the slots that have another.
pub fn reference(spec: &HostSpec) -> Vec<KeyDoc> {
    let mut reader = Reader::rehearse();
    load::read(&mut reader, &load::Place::default(), spec);
    merge_slots(reader.into_docs())
}

/// Merges the keys of a slot with defaults of its own into those of `slots.NAME`.
fn merge_slots(docs: Vec<KeyDoc>) -> Vec<KeyDoc> {
    let mut merged: Vec<KeyDoc> = Vec::with_capacity(docs.len());
    for doc in docs {
        let Some((slot, key)) = doc.path.strip_prefix("slots.").and_then(|rest| rest.split_once('.')) else {
            merged.push(doc);
            continue;
        };
        let common = format!("slots.NAME.{key}");
        match merged.iter_mut().find(|known| known.path == common && known.unit == doc.unit) {
            Some(known) => {
                let default = known.default.split("; ").next().unwrap_or_default();
                if default != doc.default {
                    known.default = format!("{}; {slot}: {}", known.default, doc.default);
                }
            }
            None => merged.push(doc),
        }
    }
    merged
}
