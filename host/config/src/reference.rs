//! Builds the reference of all keys by running the reader.

use super::{
    host_spec::HostSpec,
    load,
    reader::{KeyDoc, Reader},
};

/// Returns every key that [`load`](super::load()) reads for a host with the services of `spec`, in reading order. A
/// slot key occurs once, and its default names the slots that have another one.
pub fn reference(spec: &HostSpec) -> Vec<KeyDoc> {
    let mut reader = Reader::documenting();
    load::read(&mut reader, &load::DefaultDirs::default(), &[], spec);
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
