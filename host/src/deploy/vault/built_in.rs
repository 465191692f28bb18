//! Components that are part of the binary, and the notes that a binary of this host carried a component.

use std::{fs, path::PathBuf};

use subtle::ConstantTimeEq as _;

use super::Vault;
use crate::{compile::ComponentDigest, config::slots::SlotId, keys::MasterKey};

/// Extension of the note, beside a component, that a binary of this host carried it.
pub(super) const BUILT_IN: &str = "built-in";

impl Vault {
    /// The same for a binary that carries these components.
    pub fn carrying(self, components: impl IntoIterator<Item = (SlotId, &'static [u8])>) -> Self {
        Self { carried: components.into_iter().collect(), ..self }
    }

    /// Returns the component of a slot that is part of the binary, if there is one.
    pub fn carried(&self, slot: SlotId) -> Option<&'static [u8]> {
        self.carried.get(&slot).copied()
    }

    /// Returns whether a component is the one that is part of the binary.
    pub(in crate::deploy) fn carries(&self, slot: SlotId, component: &str) -> bool {
        self.carried(slot).is_some_and(|wasm| ComponentDigest::of(wasm).to_string() == component)
    }

    pub(super) fn built_in_path(&self, slot: SlotId, component: &str) -> PathBuf {
        self.component_path(slot, component).with_extension(BUILT_IN)
    }

    /// What a note says that only this host can write: that a binary of it carried the component.
    pub(super) fn built_in_note(&self, slot: SlotId, component: &str) -> Option<String> {
        let key = MasterKey::in_file(self.key.as_ref()?);
        let key = key.inspect_err(|error| tracing::warn!(%error, "what was built in is not noted")).ok()?;
        let context = format!("{} {component}", slot.as_str());
        Some(hex::encode(key.derive(b"built-in component", context.as_bytes())))
    }

    /// Whether a binary of this host carried the component, by its own authenticated note.
    pub(in crate::deploy) fn was_built_in(&self, slot: SlotId, component: &str) -> bool {
        let note = fs::read(self.built_in_path(slot, component)).ok();
        let expected = note.as_ref().and_then(|_| self.built_in_note(slot, component));
        note.zip(expected).is_some_and(|(note, expected)| bool::from(expected.as_bytes().ct_eq(&note)))
    }
}
