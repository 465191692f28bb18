//! Components that are part of the binary, and the notes that record them.

use std::{fs, path::PathBuf};

use bulkhead_config::slots::SlotId;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::keys::MasterKey;
use subtle::ConstantTimeEq as _;

use super::LocalStore;

/// Extension of the note, beside a component, that a binary of this host contained it.
pub(super) const BUILT_IN: &str = "built-in";

impl LocalStore {
    /// Sets the components that the binary contains.
    pub fn with_built_in(self, components: impl IntoIterator<Item = (SlotId, &'static [u8])>) -> Self {
        Self { built_in: components.into_iter().collect(), ..self }
    }

    /// Returns whether a component is the embedded one.
    pub(crate) fn is_built_in(&self, slot: SlotId, component: &str) -> bool {
        let built_in = self.built_in.get(&slot);
        built_in.is_some_and(|wasm| ComponentDigest::of(wasm).to_string() == component)
    }

    pub(super) fn built_in_path(&self, slot: SlotId, component: &str) -> PathBuf {
        self.component_path(slot, component).with_extension(BUILT_IN)
    }

    /// Returns the text of a note that only this host can write: a binary of it contained the component.
    pub(super) fn built_in_note(&self, slot: SlotId, component: &str) -> Option<String> {
        let key = MasterKey::load_or_generate(self.key.as_ref()?, &self.damaged_files);
        let key = key
            .inspect_err(|error| tracing::warn!(%error, "the note of the embedded component is not written"))
            .ok()?;
        let context = format!("{} {component}", slot.as_str());
        Some(hex::encode(key.derive(b"built-in component", context.as_bytes())))
    }

    /// Returns whether a binary of this host contained the component, according to its authenticated note.
    pub(crate) fn was_built_in(&self, slot: SlotId, component: &str) -> bool {
        let note = fs::read(self.built_in_path(slot, component)).ok();
        let expected = note.as_ref().and_then(|_| self.built_in_note(slot, component));
        note.zip(expected).is_some_and(|(note, expected)| bool::from(expected.as_bytes().ct_eq(&note)))
    }
}
