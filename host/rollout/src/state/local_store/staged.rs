//! Components in the local store: their files, which may be written before the state that names them, and are removed once
//! no state does.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    path::{Path, PathBuf},
    slice,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bulkhead_config::slots::SlotId;

use super::{Blob, LocalStore, LocalStoreError, SIGNATURE, built_in::BUILT_IN};
use crate::state::{SlotState, VersionRecord};

/// The files of staged components.
#[derive(Debug, Default)]
pub(super) struct StagedFiles(Mutex<BTreeMap<PathBuf, StagedFile>>);

#[derive(Debug, Default)]
struct StagedFile {
    /// How many values stage it.
    users: usize,
    /// Whether it is on disk.
    is_written: bool,
}

impl StagedFiles {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, StagedFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether this component was written and is still there: another host with this folder knows nothing of it.
    fn has(&self, path: &Path) -> bool {
        self.lock().get(path).is_some_and(|file| file.is_written) && path.is_file()
    }

    /// Returns whether a file belongs to a staged component: its own, one beside it, or a temporary one.
    fn keeps(&self, path: &Path) -> bool {
        self.lock().keys().any(|staged| staged.file_stem() == path.file_prefix())
    }
}

/// A component whose bytes are written before a state names it. They are kept as long as this value, and then if a state
/// names them.
#[derive(Debug)]
pub(crate) struct StagedComponent {
    store: Arc<LocalStore>,
    path: PathBuf,
}

impl Drop for StagedComponent {
    fn drop(&mut self) {
        if let Entry::Occupied(mut file) = self.store.staged.lock().entry(self.path.clone()) {
            file.get_mut().users -= 1;
            if file.get().users == 0 {
                file.remove();
            }
        }
    }
}

impl LocalStore {
    /// Writes a component's bytes durably, without the store's lock. The next save that stores the component finds them. What
    /// fails here is done again by that save, which reports it.
    pub(crate) fn stage(self: &Arc<Self>, slot: SlotId, blob: &Blob) -> StagedComponent {
        let path = self.component_path(slot, &blob.component);
        self.staged.lock().entry(path.clone()).or_default().users += 1;
        let staged = StagedComponent { store: Arc::clone(self), path: path.clone() };
        let written = self
            .create_slot_folder(slot)
            .and_then(|()| self.check_reserve(blob.wasm.len()))
            .and_then(|()| self.write(path, &[&blob.wasm]));
        match written {
            Ok(()) => {
                if let Some(file) = self.staged.lock().get_mut(&staged.path) {
                    file.is_written = true;
                }
            }
            Err(error) => tracing::debug!(slot = slot.as_str(), %error, "the component is not staged"),
        }
        staged
    }

    /// Returns whether the component's bytes need not be written again.
    fn is_staged(&self, slot: SlotId, blob: &Blob) -> bool {
        self.staged.has(&self.component_path(slot, &blob.component))
    }

    /// Returns the bytes of components that are not staged.
    pub(super) fn unwritten_bytes(&self, slot: SlotId, components: &[Blob]) -> usize {
        let unwritten = components.iter().filter(|blob| !self.is_staged(slot, blob));
        unwritten.fold(0, |sum, blob| sum.saturating_add(blob.wasm.len()))
    }

    /// Writes a component with its signature. The caller has the store's lock.
    pub(super) fn write_blob(&self, slot: SlotId, blob: &Blob) -> Result<(), LocalStoreError> {
        if let Some(signature) = &blob.signature {
            self.write(self.signature_path(slot, &blob.component), &[signature.as_bytes()])?;
        }
        if self.is_built_in(slot, &blob.component)
            && let Some(note) = self.built_in_note(slot, &blob.component)
        {
            self.write(self.built_in_path(slot, &blob.component), &[note.as_bytes()])?;
        }
        if self.is_staged(slot, blob) {
            return Ok(());
        }
        self.write(self.component_path(slot, &blob.component), &[&blob.wasm])
    }

    /// Adds a component that the state names already.
    pub(crate) fn add_blob(self: &Arc<Self>, slot: SlotId, blob: &Blob) -> Result<(), LocalStoreError> {
        let _staged = self.stage(slot, blob);
        self.create_slot_folder(slot)?;
        let _lock = self.lock()?;
        self.check_reserve(self.unwritten_bytes(slot, slice::from_ref(blob)))?;
        self.write_blob(slot, blob)
    }

    /// Removes components that the state does not name, unless they are staged, and temporary files of a crash. Failures only
    /// cost disk space.
    pub(super) fn remove_unreferenced(&self, slot: SlotId, state: &SlotState) {
        let files_of = |record: &VersionRecord| {
            let of = |path: fn(&Self, SlotId, &str) -> PathBuf| path(self, slot, &record.component);
            [of(Self::component_path), of(Self::signature_path), of(Self::built_in_path)]
        };
        let named: Vec<PathBuf> = state.versions.iter().flat_map(files_of).collect();
        let Ok(files) = fs::read_dir(self.slot(slot)) else { return };
        for path in files.flatten().map(|file| file.path()) {
            let extension = path.extension().and_then(|extension| extension.to_str());
            // Another host writes only what it stages while this one has the lock, and writes that again.
            let is_ours =
                extension.is_some_and(|extension| ["wasm", SIGNATURE, BUILT_IN].contains(&extension));
            let is_left = extension == Some("tmp") || is_ours && !named.contains(&path);
            if is_left && !self.staged.keeps(&path) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::{fs::File, io, sync::mpsc};

    use rustix::fs::{FlockOperation, flock};

    use super::{
        super::tests::{SLOT, after, component},
        *,
    };

    #[test]
    fn staged_component_is_kept_until_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(LocalStore::new(folder.path().to_owned()));
        let one = after(&SlotState::default(), b"one");
        let [blob] = component(&after(&one, b"two"), b"two");
        let staged = store.stage(SLOT, &blob);
        let temporary = store.component_path(SLOT, &blob.component).with_extension("half.tmp");
        fs::write(&temporary, b"tw").unwrap();
        store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
        assert_eq!(*store.component(SLOT, &blob.component, 9).unwrap(), *b"two");
        assert!(temporary.exists(), "it is being written");
        drop(staged);
        let noted = SlotState { revision: one.revision + 1, ..one.clone() };
        store.save(SLOT, one.revision, &noted, &[]).unwrap();
        assert!(!store.has_component(SLOT, &blob.component));
        assert!(!temporary.exists());
    }

    #[test]
    fn staged_component_is_written_without_lock() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(LocalStore::new(folder.path().to_owned()));
        let lock = folder.path().join("lock");
        let (report, written) = mpsc::channel();
        store.check_writes(move |path| {
            if path.extension().is_some_and(|extension| extension == "wasm") {
                let lock = File::options().create(true).append(true).open(&lock)?;
                report.send(flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()).unwrap();
            }
            Ok(())
        });
        let one = after(&SlotState::default(), b"one");
        let blobs = component(&one, b"one");
        let _staged = store.stage(SLOT, &blobs[0]);
        store.save(SLOT, 0, &one, &blobs).unwrap();
        assert_eq!(written.try_iter().collect::<Vec<_>>(), [true], "once, with the lock free");
        // As another host with this folder may do.
        fs::remove_file(store.component_path(SLOT, &blobs[0].component)).unwrap();
        let noted = SlotState { revision: one.revision + 1, ..one.clone() };
        store.save(SLOT, one.revision, &noted, &blobs).unwrap();
        assert_eq!(written.try_iter().collect::<Vec<_>>(), [false]);
        assert!(store.has_component(SLOT, &blobs[0].component));
    }

    #[test]
    fn failed_staging_is_done_by_save() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(LocalStore::new(folder.path().to_owned()));
        let mut attempts = 0;
        store.check_writes(move |_| {
            attempts += 1;
            if attempts == 1 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        });
        let one = after(&SlotState::default(), b"one");
        let blobs = component(&one, b"one");
        let _staged = store.stage(SLOT, &blobs[0]);
        assert!(!store.has_component(SLOT, &blobs[0].component));
        store.save(SLOT, 0, &one, &blobs).unwrap();
        assert_eq!(*store.component(SLOT, &blobs[0].component, 9).unwrap(), *b"one");
    }
}
