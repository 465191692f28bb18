//! The audit log in the local store. Every writer has the store's lock.

use std::path::PathBuf;

use bulkhead_config::slots::SlotId;

use super::{LocalStore, LocalStoreError, create_folder};
use crate::state::audit::{self, AuditEntry};

/// Number of a slot's latest lines, beyond as many as are new, that are searched for moves that an earlier attempt
/// has logged.
const LOGGED: usize = 100;

impl LocalStore {
    fn audit_path(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    /// Appends lines, all or none; returns the length of the log before, if any were appended.
    pub(super) fn append_entries(&self, entries: &[AuditEntry]) -> Result<Option<u64>, LocalStoreError> {
        let path = self.audit_path();
        let written = self.check_fault(&path).and_then(|()| audit::append(&path, entries));
        written.map_err(|error| LocalStoreError::Io(path, error))
    }

    /// Logs how many of the last lines of the log a power cut has damaged: readers skip them.
    pub(super) fn report_damaged_lines(&self) {
        match audit::damaged_lines(&self.audit_path()) {
            Ok(0) => {}
            Ok(lines) => tracing::warn!(lines, "lines of the audit log are damaged and skipped"),
            Err(error) => tracing::warn!(%error, "the audit log cannot be read"),
        }
    }

    /// Removes the lines after a `length`, because the change that they name was rejected.
    pub(super) fn truncate_audit_log(&self, length: u64) {
        if let Err(error) = audit::truncate(&self.audit_path(), length) {
            tracing::error!(%error, "the audit log names a rejected change whose lines cannot be removed");
        }
    }

    /// Returns the moves that no earlier attempt has logged.
    pub(super) fn unlogged(&self, slot: SlotId, entries: Vec<AuditEntry>) -> Vec<AuditEntry> {
        if entries.is_empty() {
            return entries;
        }
        let known = self.audit(Some(slot), entries.len().saturating_add(LOGGED)).unwrap_or_default();
        let is_new = |entry: &AuditEntry| !known.iter().any(|known| known.is_same_move(entry));
        entries.into_iter().filter(is_new).collect()
    }

    /// Appends a move that no slot state has.
    ///
    /// # Errors
    /// When it cannot be written to disk.
    pub(crate) fn append_entry(&self, slot: SlotId, entry: AuditEntry) -> Result<(), LocalStoreError> {
        self.create_slot_folder(slot)?;
        let _lock = self.lock()?;
        self.append_entries(&[entry]).map(drop)
    }

    /// Appends a line that concerns no slot.
    ///
    /// # Errors
    /// When it cannot be written to disk.
    pub(crate) fn append_host_entry(&self, entry: AuditEntry) -> Result<(), LocalStoreError> {
        create_folder(self.folder.clone())?;
        let _lock = self.lock()?;
        self.append_entries(&[entry]).map(drop)
    }

    /// Returns the last `limit` moves, of one slot or of all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit(&self, slot: Option<SlotId>, limit: usize) -> Result<Vec<AuditEntry>, LocalStoreError> {
        self.audit_of(slot.map(SlotId::as_str), limit)
    }

    /// Returns the last `limit` lines whose slot has this name, or of all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) fn audit_of(
        &self,
        slot: Option<&str>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, LocalStoreError> {
        let path = self.audit_path();
        let wanted = |entry: &AuditEntry| slot.is_none_or(|slot| entry.slot == slot);
        audit::read(&path, limit, wanted).map_err(|error| LocalStoreError::Io(path, error))
    }
}
