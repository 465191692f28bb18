//! The audit log, as the vault writes and reads it. Whoever writes has the lock.

use std::path::PathBuf;

use super::{Vault, VaultError, make_folder};
use crate::{
    config::slots::SlotId,
    deploy::{Entry, audit},
};

/// Latest lines of a slot's moves beyond as many as are new, in which those that an earlier try has logged are found.
const LOGGED: usize = 100;

impl Vault {
    fn audit_path(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    /// Adds lines, all or none; gives the length before, where there are any.
    pub(super) fn log(&self, entries: &[Entry]) -> Result<Option<u64>, VaultError> {
        let path = self.audit_path();
        let written = self.allowed(&path).and_then(|()| audit::append(&path, entries));
        written.map_err(|error| VaultError::Io(path, error))
    }

    /// Takes back the lines beyond a `length`: what they say has not come about.
    pub(super) fn take_back(&self, length: u64) {
        if let Err(error) = audit::cut(&self.audit_path(), length) {
            tracing::error!(%error, "the audit log names a change that was refused; its lines cannot be taken back");
        }
    }

    /// Moves that no earlier try has logged.
    pub(super) fn unlogged(&self, slot: SlotId, entries: Vec<Entry>) -> Vec<Entry> {
        if entries.is_empty() {
            return entries;
        }
        let known = self.audit(Some(slot), entries.len().saturating_add(LOGGED)).unwrap_or_default();
        let is_new = |entry: &Entry| !known.iter().any(|known| known.is_again(entry));
        entries.into_iter().filter(is_new).collect()
    }

    /// Adds a move to the audit log that no book has.
    ///
    /// # Errors
    /// When it is not safely on disk.
    pub fn note(&self, slot: SlotId, entry: Entry) -> Result<(), VaultError> {
        self.make(slot)?;
        let _lock = self.lock()?;
        self.log(&[entry]).map(drop)
    }

    /// Adds a line to the audit log that is about no slot.
    ///
    /// # Errors
    /// When it is not safely on disk.
    pub fn note_configuration(&self, entry: Entry) -> Result<(), VaultError> {
        make_folder(self.folder.clone())?;
        let _lock = self.lock()?;
        self.log(&[entry]).map(drop)
    }

    /// The last `limit` moves, of one slot or of all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit(&self, slot: Option<SlotId>, limit: usize) -> Result<Vec<Entry>, VaultError> {
        self.audit_of(slot.map(SlotId::as_str), limit)
    }

    /// The last `limit` lines, of what is named in them as their slot or of all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit_of(&self, slot: Option<&str>, limit: usize) -> Result<Vec<Entry>, VaultError> {
        let path = self.audit_path();
        let wanted = |entry: &Entry| slot.is_none_or(|slot| entry.slot == slot);
        audit::read(&path, limit, wanted).map_err(|error| VaultError::Io(path, error))
    }
}
