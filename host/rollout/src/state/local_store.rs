//! The local store: pushed components, slot states and the audit log in the data folder.

mod audit_log;
mod built_in;
mod recovery;
mod reserve;
mod staged;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bulkhead_config::slots::SlotId;
use bulkhead_os::{damaged_files::DamagedFiles, files};
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{FileError, read_component};
use rustix::fs::{FlockOperation, flock};

use self::staged::StagedFiles;
use super::SlotState;

pub(crate) use self::staged::StagedComponent;

/// Extension of the signature file beside a component.
const SIGNATURE: &str = "minisig";

/// Why the data folder cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LocalStoreError {
    /// The operating system's error.
    #[error("{0}: {1}; make the data folder writable and check that its disk has room")]
    Io(PathBuf, io::Error),
    /// A file differs from what was written.
    #[error(
        "{0} is damaged: {1}; push the component again, or restart the host, which then uses an earlier one"
    )]
    Damaged(PathBuf, String),
    /// A component's file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another host with the same data folder has changed the slot.
    #[error(
        "another host with this data folder has changed the slot to generation {0}; restart this host to load that state"
    )]
    Conflict(u64),
}

/// A component's bytes, and the text of its `.minisig` file if it has one.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) component: String,
    pub(crate) wasm: Arc<[u8]>,
    pub(crate) signature: Option<String>,
}

/// The bytes of a component, and the text of its signature if it has one.
pub type SignedBytes = (Arc<[u8]>, Option<String>);

/// How far a change has come when its state is written, which decides what a failed write means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    /// Not in effect yet: a failed write rejects it and leaves no line in the audit log.
    Proposed,
    /// In effect already: a failed write is retried later.
    Applied,
    /// In effect already, and allowed to use the space of the reserve.
    Rollback,
}

/// The folder of pushed components, slot states and the audit log. Several hosts may share it.
#[derive(Debug)]
pub struct LocalStore {
    folder: PathBuf,
    /// File of the key that authenticates this host's notes; created on first use.
    key: Option<PathBuf>,
    damaged_files: DamagedFiles,
    /// Components that are part of the binary.
    built_in: BTreeMap<SlotId, &'static [u8]>,
    /// States whose write by this host failed; each may be on disk nevertheless.
    attempted: Mutex<BTreeMap<SlotId, Vec<u8>>>,
    /// Files of components that the next states name.
    staged: StagedFiles,
    /// Lets a test make writes fail.
    #[cfg(test)]
    fault: tests::WriteFault,
}

impl LocalStore {
    /// Returns a store in `folder`, which the first write creates.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            key: None,
            damaged_files: DamagedFiles::default(),
            built_in: BTreeMap::new(),
            attempted: Mutex::default(),
            staged: StagedFiles::default(),
            #[cfg(test)]
            fault: tests::WriteFault::default(),
        }
    }

    /// Sets the file of the host's key.
    pub fn with_key(self, key: PathBuf) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Sets where damaged files are recorded.
    pub fn with_damaged_files(self, damaged_files: DamagedFiles) -> Self {
        Self { damaged_files, ..self }
    }

    /// Returns the error that a test injects for this file.
    #[cfg(test)]
    fn check_fault(&self, path: &Path) -> io::Result<()> {
        self.fault.check(path)
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self)]
    const fn check_fault(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn slot(&self, slot: SlotId) -> PathBuf {
        self.folder.join(slot.as_str())
    }

    fn state_path(&self, slot: SlotId) -> PathBuf {
        self.slot(slot).join("book.json")
    }

    fn component_path(&self, slot: SlotId, component: &str) -> PathBuf {
        let digits = component.strip_prefix("sha256:").unwrap_or(component);
        self.slot(slot).join(format!("{digits}.wasm"))
    }

    fn signature_path(&self, slot: SlotId, component: &str) -> PathBuf {
        self.component_path(slot, component).with_extension(SIGNATURE)
    }

    fn create_slot_folder(&self, slot: SlotId) -> Result<(), LocalStoreError> {
        create_folder(self.slot(slot))
    }

    /// Takes the lock that keeps other hosts with the same folder from writing.
    fn lock(&self) -> Result<File, LocalStoreError> {
        let path = self.folder.join("lock");
        let locked = File::options().create(true).append(true).open(&path).and_then(|file| {
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        });
        locked.map_err(|error| LocalStoreError::Io(path, error))
    }

    /// Returns a slot's state; `None` if nothing has been changed yet.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn state(&self, slot: SlotId) -> Result<Option<SlotState>, LocalStoreError> {
        Self::read_state(self.state_path(slot))
    }

    fn read_state(path: PathBuf) -> Result<Option<SlotState>, LocalStoreError> {
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LocalStoreError::Io(path, error)),
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| LocalStoreError::Damaged(path, error.to_string()))
    }

    /// Stores `components`, appends the moves from the state of this `revision` to `after` to the audit log, and
    /// then replaces the state. The old state stays until the new one is complete; components that the new one does
    /// not name are removed. Moves that an earlier attempt has logged are not logged again.
    ///
    /// # Errors
    /// When the state on disk has not changed; the audit log then has no line of the change.
    pub(crate) fn save(
        &self,
        slot: SlotId,
        revision: u64,
        after: &SlotState,
        components: &[Blob],
    ) -> Result<(), LocalStoreError> {
        self.save_with(WriteMode::Proposed, slot, revision, after, components)
    }

    /// Saves a change that is in effect already: its lines stay in the audit log.
    ///
    /// # Errors
    /// When the state on disk has not changed.
    pub(crate) fn save_applied(
        &self,
        slot: SlotId,
        revision: u64,
        after: &SlotState,
        components: &[Blob],
    ) -> Result<(), LocalStoreError> {
        self.save_with(WriteMode::Applied, slot, revision, after, components)
    }

    /// Saves a rollback, for which a full disk releases the reserve.
    ///
    /// # Errors
    /// See [`LocalStore::save_applied`].
    pub(crate) fn save_rollback(
        &self,
        slot: SlotId,
        revision: u64,
        after: &SlotState,
        components: &[Blob],
    ) -> Result<(), LocalStoreError> {
        let save = || self.save_with(WriteMode::Rollback, slot, revision, after, components);
        match save() {
            Err(LocalStoreError::Io(_, error))
                if reserve::is_full(&error) && reserve::release(&self.reserve_path()) =>
            {
                tracing::warn!(slot = slot.as_str(), "the data disk is full; its reserve is released");
                save()
            }
            stored => stored,
        }
    }

    fn save_with(
        &self,
        mode: WriteMode,
        slot: SlotId,
        revision: u64,
        after: &SlotState,
        components: &[Blob],
    ) -> Result<(), LocalStoreError> {
        self.create_slot_folder(slot)?;
        let _lock = self.lock()?;
        let stored = self.state(slot)?.unwrap_or_default();
        self.check_revision(slot, &stored, revision)?;
        let mut text = serde_json::to_vec_pretty(after)
            .map_err(|error| LocalStoreError::Damaged(self.state_path(slot), error.to_string()))?;
        text.push(b'\n');
        let takes_room = match mode {
            WriteMode::Proposed => true,
            // A state without components leaves enough room for the next rollback.
            WriteMode::Applied => !components.is_empty(),
            WriteMode::Rollback => false,
        };
        if takes_room {
            let unwritten = self.unwritten_bytes(slot, components);
            self.check_reserve(unwritten.saturating_add(text.len()))?;
        }
        for blob in components {
            self.write_blob(slot, blob)?;
        }
        let logged = self.append_entries(&self.unlogged(slot, after.audit_entries(slot, &stored)))?;
        let written = self.replace_state(slot, |path| self.write(path, &[&text]));
        let mut attempted = self.attempted.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => attempted.remove(&slot),
            Err(_) => attempted.insert(slot, text),
        };
        drop(attempted);
        if let Err(error) = written {
            // The state may have been replaced although its folder could not be synchronised.
            let is_old =
                || self.state(slot).is_ok_and(|state| state.unwrap_or_default().revision == stored.revision);
            if let Some(length) = logged.filter(|_| mode == WriteMode::Proposed && is_old()) {
                self.truncate_audit_log(length);
            }
            return Err(error);
        }
        self.remove_unreferenced(slot, after);
        self.ensure_reserve();
        Ok(())
    }

    /// Checks that the state on disk has this `revision` or is one that this host has tried to write.
    ///
    /// # Errors
    /// When another host has written it.
    pub(crate) fn check_revision(
        &self,
        slot: SlotId,
        stored: &SlotState,
        revision: u64,
    ) -> Result<(), LocalStoreError> {
        let is_attempted = || {
            let attempted = self.attempted.lock().unwrap_or_else(PoisonError::into_inner);
            attempted
                .get(&slot)
                .is_some_and(|text| fs::read(self.state_path(slot)).is_ok_and(|stored| stored == *text))
        };
        if stored.revision == revision || is_attempted() {
            Ok(())
        } else {
            Err(LocalStoreError::Conflict(stored.generation))
        }
    }

    /// Returns whether a component is stored.
    pub(crate) fn has_component(&self, slot: SlotId, component: &str) -> bool {
        self.component_path(slot, component).is_file()
    }

    /// Returns a stored component with its signature.
    pub(crate) fn blob(&self, slot: SlotId, component: &str, cap: usize) -> Result<Blob, LocalStoreError> {
        let wasm = self.component(slot, component, cap)?;
        let path = self.signature_path(slot, component);
        let signature = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LocalStoreError::Io(path, error)),
        };
        Ok(Blob { component: component.to_owned(), wasm, signature })
    }

    /// Returns the component of a slot's active version with the text of its signature, if it is stored.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn active_component(&self, slot: SlotId, cap: usize) -> Result<Option<SignedBytes>, LocalStoreError> {
        let state = self.state(slot)?.unwrap_or_default();
        let Some(active) = state.active().filter(|active| self.has_component(slot, &active.component)) else {
            return Ok(None);
        };
        let Blob { wasm, signature, .. } = self.blob(slot, &active.component, cap)?;
        Ok(Some((wasm, signature)))
    }

    fn write(&self, path: PathBuf, parts: &[&[u8]]) -> Result<(), LocalStoreError> {
        let written = self.check_fault(&path).and_then(|()| files::replace(&path, parts));
        written.map_err(|error| LocalStoreError::Io(path, error))
    }

    /// Returns the bytes of a stored component after verifying its digest; at most `cap` bytes.
    ///
    /// # Errors
    /// When it is missing, too large or damaged.
    pub fn component(&self, slot: SlotId, component: &str, cap: usize) -> Result<Arc<[u8]>, LocalStoreError> {
        let path = self.component_path(slot, component);
        let wasm = read_component(&path, cap)?;
        if ComponentDigest::of(&wasm).to_string() != component {
            return Err(LocalStoreError::Damaged(path, "its digest differs".to_owned()));
        }
        Ok(wasm)
    }
}

fn create_folder(folder: PathBuf) -> Result<(), LocalStoreError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| LocalStoreError::Io(folder, error))
}
