//! Builds the reference of all keys by running the reader.

use super::{DefaultDirs, host_spec::HostSpec, read};
use crate::reader::{KeyDoc, Reader};

/// Returns every key that [`load`](super::load()) reads for a host with the services of `spec`, in reading order. A
/// slot key occurs once, and its default names the slots that have another one.
pub fn reference(spec: &HostSpec) -> Vec<KeyDoc> {
    let mut reader = Reader::documenting();
    read(&mut reader, &DefaultDirs::default(), &[], spec);
    merge_slots(reader.into_docs())
}

/// Merges the keys of a slot with defaults of its own into those of `slots.NAME`.
fn merge_slots(docs: Vec<KeyDoc>) -> Vec<KeyDoc> {
    let slot_key = |doc: &KeyDoc| -> Option<(String, String)> {
        let (slot, key) = doc.path.strip_prefix("slots.")?.split_once('.')?;
        (slot != "NAME").then(|| (slot.to_owned(), format!("slots.NAME.{key}")))
    };
    let common: Vec<(String, String)> = docs.iter().map(|doc| (doc.path.clone(), doc.unit.clone())).collect();
    let is_common = |path: &String, doc: &KeyDoc| common.contains(&(path.clone(), doc.unit.clone()));
    let is_own = |doc: &KeyDoc| slot_key(doc).is_some_and(|(_, path)| is_common(&path, doc));
    let (own, mut merged): (Vec<KeyDoc>, Vec<KeyDoc>) = docs.into_iter().partition(is_own);
    for doc in own {
        let Some((slot, path)) = slot_key(&doc) else { continue };
        let same = merged.iter_mut().find(|known| known.path == path && known.unit == doc.unit);
        let Some(known) = same else { continue };
        if known.default.split("; ").next() != Some(doc.default.as_str()) {
            known.default = format!("{}; {slot}: {}", known.default, doc.default);
        }
    }
    merged
}
