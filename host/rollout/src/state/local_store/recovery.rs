//! What a start of the host finds after a power cut: a damaged state is set aside, and the state before it counts.

use std::{fs, path::PathBuf};

use bulkhead_config::slots::SlotId;
use bulkhead_os::damaged_files::damaged_path;

use super::{LocalStore, LocalStoreError};
use crate::state::SlotState;

impl LocalStore {
    /// Removes temporary files that a crash has left in the folder of all slots, and logs which lines of the audit log are lost.
    /// Failures only cost disk space.
    pub fn recover(&self) {
        self.report_lost_lines();
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        let Ok(_lock) = self.lock() else { return };
        for path in files.flatten().map(|file| file.path()) {
            if path.extension().is_some_and(|extension| extension == "tmp") {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn previous_path(&self, slot: SlotId) -> PathBuf {
        self.state_path(slot).with_extension("previous.json")
    }

    /// Replaces the state, by `write`, and keeps the one before. Without that, a slot whose state is damaged starts as it was
    /// configured. What an earlier change has kept goes only once the state is written: its room is no room for a change.
    pub(super) fn replace_state(
        &self,
        slot: SlotId,
        write: impl FnOnce(PathBuf) -> Result<(), LocalStoreError>,
    ) -> Result<(), LocalStoreError> {
        let path = self.state_path(slot);
        let kept = path.with_extension("previous.tmp");
        let _ = fs::remove_file(&kept);
        let _ = fs::hard_link(&path, &kept);
        let written = write(path);
        let _ = if written.is_ok() {
            fs::rename(&kept, self.previous_path(slot))
        } else {
            fs::remove_file(&kept)
        };
        written
    }

    /// Returns a slot's state as [`LocalStore::state`] does. A damaged one is set aside, and the one before the last
    /// change takes its place, if there is one, as it does where an earlier start has ended in between.
    ///
    /// # Errors
    /// When it cannot be read, or a damaged one cannot be replaced.
    pub(crate) fn restore_state(&self, slot: SlotId) -> Result<Option<SlotState>, LocalStoreError> {
        match self.state(slot) {
            Err(LocalStoreError::Damaged(..)) => {}
            Ok(None) if self.previous_path(slot).exists() => {}
            state => return state,
        }
        let _lock = self.lock()?;
        let path = self.state_path(slot);
        let (reason, aside) = match self.state(slot) {
            Err(error @ LocalStoreError::Damaged(..)) => {
                let aside = self.damaged_files.set_aside(&path);
                (error.to_string(), Some(aside.map_err(|error| LocalStoreError::Io(path.clone(), error))?))
            }
            Ok(None) => {
                let aside = Some(damaged_path(&path)).filter(|aside| aside.exists());
                if let Some(aside) = &aside {
                    self.damaged_files.record(&path, aside);
                }
                ("it is missing".to_owned(), aside)
            }
            // Another host with this folder has replaced it meanwhile.
            state => return state,
        };
        let previous = Self::read_state(self.previous_path(slot)).unwrap_or_default();
        tracing::error!(
            slot = slot.as_str(),
            error = reason,
            aside = aside.map(|aside| aside.display().to_string()),
            generation = previous.as_ref().map(|previous| previous.generation),
            "the state of the slot is damaged and set aside; the one before the last change counts, if there is one"
        );
        if let Some(previous) = &previous {
            let text = serde_json::to_vec_pretty(previous)
                .map_err(|error| LocalStoreError::Damaged(path.clone(), error.to_string()))?;
            self.write(path, &[&text, b"\n"])?;
        }
        Ok(previous)
    }
}
