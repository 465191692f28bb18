//! The audit log in the local store. Every writer has the store's lock.

use std::{fs, path::PathBuf};

use bulkhead_config::slots::SlotId;

use super::{LocalStore, LocalStoreError, create_folder};
use crate::state::{
    SlotState,
    audit::{self, AuditEntry},
};

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

    /// Logs what a power cut has made of the log: how many of its last lines are damaged, which readers skip, and which slots
    /// lack lines.
    pub(super) fn report_lost_lines(&self) {
        match audit::damaged_lines(&self.audit_path()) {
            Ok(0) => {}
            Ok(lines) => tracing::warn!(lines, "lines of the audit log are damaged and skipped"),
            Err(error) => tracing::warn!(%error, "the audit log cannot be read"),
        }
        for slot in self.slots_without_last_move() {
            tracing::error!(
                slot = slot.as_str(),
                "the audit log lacks the last move of the slot; lines are lost"
            );
        }
    }

    /// Returns the slots whose last move the log does not have, such as one that is empty or gone: a move is logged before a state
    /// has it. Of a log that is not read as a whole, that is not known.
    pub(super) fn slots_without_last_move(&self) -> Vec<SlotId> {
        if fs::metadata(self.audit_path()).is_ok_and(|log| log.len() > audit::TAIL_BYTES) {
            return Vec::new();
        }
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let slots = folders.filter_map(|folder| SlotId::parse(folder.file_name().to_str()?).ok());
        let last_move = |slot: SlotId| {
            let state = self.state(slot).ok()??;
            Some((slot, state.audit_entries(slot, &SlotState::default()).pop()?))
        };
        let moves: Vec<(SlotId, AuditEntry)> = slots.filter_map(last_move).collect();
        // Read after the states, which another host may change, and as a whole: any number of rejected pushes may follow a move.
        let Ok(known) = self.audit(None, usize::MAX) else { return Vec::new() };
        let is_lost = |last: &AuditEntry| !known.iter().any(|known| known.is_same_move(last));
        moves.into_iter().filter(|(_, last)| is_lost(last)).map(|(slot, _)| slot).collect()
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
