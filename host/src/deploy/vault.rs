mod built_in;
mod log;
mod reserve;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    slice,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::{FlockOperation, flock};

use self::built_in::BUILT_IN;
use super::Book;
use crate::{
    compile::ComponentDigest,
    config::slots::SlotId,
    files,
    slots::{FileError, read_component},
};

/// Extension of a signature beside its component.
const SIGNATURE: &str = "minisig";

/// Why the data folder does not give or take.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The operating system's word.
    #[error("{0}: {1}; make the data folder writable and see that its disk has room")]
    Io(PathBuf, io::Error),
    /// A file is not what was written.
    #[error("{0} is damaged: {1}; remove it and push the component again")]
    Damaged(PathBuf, String),
    /// A component's file cannot be had.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another host with the same data folder has changed the slot.
    #[error(
        "another host with this data folder has changed the slot to generation {0}; restart this one to follow"
    )]
    Overtaken(u64),
}

/// A component's bytes, and the text of its `.minisig` file where it has one.
#[derive(Clone, Debug)]
pub(super) struct Blob {
    pub(super) component: String,
    pub(super) wasm: Arc<[u8]>,
    pub(super) signature: Option<String>,
}

/// What becomes of a change whose book cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unkept {
    /// It is refused: no line says that it was made.
    Refused,
    /// It counts already, and is written later.
    Counts,
    /// The same; the room of the reserve is for it.
    Rollback,
}

/// The folder of pushed components, of what answers, and of the audit log. Several hosts may share it.
#[derive(Debug)]
pub struct Vault {
    folder: PathBuf,
    /// File of the key that authenticates notes of this host; made when first needed.
    key: Option<PathBuf>,
    /// Components that are part of the binary.
    carried: BTreeMap<SlotId, &'static [u8]>,
    /// Books of this host whose write has failed: each may be in its place all the same.
    tried: Mutex<BTreeMap<SlotId, Vec<u8>>>,
    /// Lets a test refuse writes.
    #[cfg(test)]
    fault: tests::Fault,
}

impl Vault {
    /// The vault in `folder`, which is made with the first write.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            key: None,
            carried: BTreeMap::new(),
            tried: Mutex::default(),
            #[cfg(test)]
            fault: tests::Fault::default(),
        }
    }

    /// The same with the file of the host's key.
    pub fn keyed(self, key: PathBuf) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Whether a test lets this file be written.
    #[cfg(test)]
    fn allowed(&self, path: &Path) -> io::Result<()> {
        self.fault.look(path)
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self)]
    const fn allowed(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn slot(&self, slot: SlotId) -> PathBuf {
        self.folder.join(slot.as_str())
    }

    fn book_path(&self, slot: SlotId) -> PathBuf {
        self.slot(slot).join("book.json")
    }

    fn component_path(&self, slot: SlotId, component: &str) -> PathBuf {
        let digits = component.strip_prefix("sha256:").unwrap_or(component);
        self.slot(slot).join(format!("{digits}.wasm"))
    }

    fn signature_path(&self, slot: SlotId, component: &str) -> PathBuf {
        self.component_path(slot, component).with_extension(SIGNATURE)
    }

    fn make(&self, slot: SlotId) -> Result<(), VaultError> {
        make_folder(self.slot(slot))
    }

    /// Keeps others that share the folder from writing.
    fn lock(&self) -> Result<File, VaultError> {
        let path = self.folder.join("lock");
        let locked = File::options().create(true).append(true).open(&path).and_then(|file| {
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        });
        locked.map_err(|error| VaultError::Io(path, error))
    }

    /// What a slot's book says; none where nothing has been changed yet.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn book(&self, slot: SlotId) -> Result<Option<Book>, VaultError> {
        let path = self.book_path(slot);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(VaultError::Io(path, error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| VaultError::Damaged(path, error.to_string()))
    }

    /// Keeps `components`, writes the moves that lead from the book of this `edition` to `after` into the audit log, and
    /// then the book. The old one stands until the new one does; components that it no longer names are removed. Moves that
    /// an earlier try has logged are not logged again.
    ///
    /// # Errors
    /// When the book on disk has not changed; the audit log then has no line of it.
    pub(super) fn keep(
        &self,
        slot: SlotId,
        edition: u64,
        after: &Book,
        components: &[Blob],
    ) -> Result<(), VaultError> {
        self.keep_or(Unkept::Refused, slot, edition, after, components)
    }

    /// The same for what counts already: its lines stay in the audit log.
    ///
    /// # Errors
    /// When the book on disk has not changed.
    pub(super) fn keep_late(
        &self,
        slot: SlotId,
        edition: u64,
        after: &Book,
        components: &[Blob],
    ) -> Result<(), VaultError> {
        self.keep_or(Unkept::Counts, slot, edition, after, components)
    }

    /// The same for a rollback: on a full disk the reserve is given up for it.
    ///
    /// # Errors
    /// See [`Vault::keep_late`].
    pub(super) fn keep_rollback(
        &self,
        slot: SlotId,
        edition: u64,
        after: &Book,
        components: &[Blob],
    ) -> Result<(), VaultError> {
        let keep = || self.keep_or(Unkept::Rollback, slot, edition, after, components);
        match keep() {
            Err(VaultError::Io(_, error))
                if reserve::is_full(&error) && reserve::give_up(&self.reserve_path()) =>
            {
                tracing::warn!(slot = slot.as_str(), "the data disk is full; its reserve is given up");
                keep()
            }
            kept => kept,
        }
    }

    fn keep_or(
        &self,
        unkept: Unkept,
        slot: SlotId,
        edition: u64,
        after: &Book,
        components: &[Blob],
    ) -> Result<(), VaultError> {
        self.make(slot)?;
        let _lock = self.lock()?;
        let kept = self.book(slot)?.unwrap_or_default();
        self.is_own(slot, &kept, edition)?;
        let path = self.book_path(slot);
        let mut text = serde_json::to_vec_pretty(after)
            .map_err(|error| VaultError::Damaged(path.clone(), error.to_string()))?;
        text.push(b'\n');
        let takes_room = match unkept {
            Unkept::Refused => true,
            // A book alone leaves enough for the next rollback, and is not refused for it.
            Unkept::Counts => !components.is_empty(),
            Unkept::Rollback => false,
        };
        if takes_room {
            self.spare_reserve(components, text.len())?;
        }
        for blob in components {
            self.put(slot, blob)?;
        }
        let logged = self.log(&self.unlogged(slot, after.entries(slot, &kept)))?;
        let written = self.write(path, &[&text]);
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => tried.remove(&slot),
            Err(_) => tried.insert(slot, text),
        };
        drop(tried);
        if let Err(error) = written {
            // A book may be in its place though its folder could not be made to stay.
            let is_old =
                || self.book(slot).is_ok_and(|book| book.unwrap_or_default().edition == kept.edition);
            if let Some(length) = logged.filter(|_| unkept == Unkept::Refused && is_old()) {
                self.take_back(length);
            }
            return Err(error);
        }
        self.sweep(slot, after);
        self.make_reserve();
        Ok(())
    }

    /// Checks that the book on disk is the one of this `edition`, or one that this host has tried to write.
    ///
    /// # Errors
    /// When another host has written it.
    pub(super) fn is_own(&self, slot: SlotId, kept: &Book, edition: u64) -> Result<(), VaultError> {
        let is_tried = || {
            let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
            tried
                .get(&slot)
                .is_some_and(|text| fs::read(self.book_path(slot)).is_ok_and(|kept| kept == *text))
        };
        if kept.edition == edition || is_tried() {
            Ok(())
        } else {
            Err(VaultError::Overtaken(kept.generation))
        }
    }

    fn put(&self, slot: SlotId, blob: &Blob) -> Result<(), VaultError> {
        if let Some(signature) = &blob.signature {
            self.write(self.signature_path(slot, &blob.component), &[signature.as_bytes()])?;
        }
        if self.carries(slot, &blob.component)
            && let Some(note) = self.built_in_note(slot, &blob.component)
        {
            self.write(self.built_in_path(slot, &blob.component), &[note.as_bytes()])?;
        }
        self.write(self.component_path(slot, &blob.component), &[&blob.wasm])
    }

    /// Keeps a component that the book names already.
    pub(super) fn add(&self, slot: SlotId, blob: &Blob) -> Result<(), VaultError> {
        self.make(slot)?;
        let _lock = self.lock()?;
        self.spare_reserve(slice::from_ref(blob), 0)?;
        self.put(slot, blob)
    }

    /// Whether a component is kept.
    pub(super) fn has(&self, slot: SlotId, component: &str) -> bool {
        self.component_path(slot, component).is_file()
    }

    /// A component that was kept, with what vouches for it.
    pub(super) fn blob(&self, slot: SlotId, component: &str, cap: usize) -> Result<Blob, VaultError> {
        let wasm = self.component(slot, component, cap)?;
        let path = self.signature_path(slot, component);
        let signature = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(VaultError::Io(path, error)),
        };
        Ok(Blob { component: component.to_owned(), wasm, signature })
    }

    fn write(&self, path: PathBuf, parts: &[&[u8]]) -> Result<(), VaultError> {
        let written = self.allowed(&path).and_then(|()| files::replace(&path, parts));
        written.map_err(|error| VaultError::Io(path, error))
    }

    /// A component that was kept; of no more than `cap` bytes, and exactly the one that was.
    ///
    /// # Errors
    /// When it is not there, or not what it was.
    pub fn component(&self, slot: SlotId, component: &str, cap: usize) -> Result<Arc<[u8]>, VaultError> {
        let path = self.component_path(slot, component);
        let wasm = read_component(&path, cap)?;
        if ComponentDigest::of(&wasm).to_string() != component {
            return Err(VaultError::Damaged(path, "its digest is another".to_owned()));
        }
        Ok(wasm)
    }

    /// Removes components that the book does not name, and what a crash left half written. Failures cost disk only.
    fn sweep(&self, slot: SlotId, book: &Book) {
        let files_of = |record: &super::Record| {
            let of = |path: fn(&Self, SlotId, &str) -> PathBuf| path(self, slot, &record.component);
            [of(Self::component_path), of(Self::signature_path), of(Self::built_in_path)]
        };
        let named: Vec<PathBuf> = book.versions.iter().flat_map(files_of).collect();
        let Ok(files) = fs::read_dir(self.slot(slot)) else { return };
        for path in files.flatten().map(|file| file.path()) {
            let extension = path.extension().and_then(|extension| extension.to_str());
            // Under the lock nobody else is writing.
            let is_ours =
                extension.is_some_and(|extension| ["wasm", SIGNATURE, BUILT_IN].contains(&extension));
            if extension == Some("tmp") || is_ours && !named.contains(&path) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn make_folder(folder: PathBuf) -> Result<(), VaultError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| VaultError::Io(folder, error))
}
