use std::{
    fs::{self, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    sync::Arc,
};

use rustix::fs::{FlockOperation, flock};

use super::{Book, Entry, audit};
use crate::{
    compile::ComponentDigest,
    config::slots::SlotName,
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

/// The folder of pushed components, of what answers, and of the audit log. Several hosts may share it.
#[derive(Debug)]
pub struct Vault {
    folder: PathBuf,
}

impl Vault {
    /// The vault in `folder`, which is made with the first write.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn slot(&self, slot: SlotName) -> PathBuf {
        self.folder.join(slot.as_str())
    }

    fn book_path(&self, slot: SlotName) -> PathBuf {
        self.slot(slot).join("book.json")
    }

    fn component_path(&self, slot: SlotName, component: &str) -> PathBuf {
        let digits = component.strip_prefix("sha256:").unwrap_or(component);
        self.slot(slot).join(format!("{digits}.wasm"))
    }

    fn signature_path(&self, slot: SlotName, component: &str) -> PathBuf {
        self.component_path(slot, component).with_extension(SIGNATURE)
    }

    fn audit_path(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    fn make(&self, slot: SlotName) -> Result<(), VaultError> {
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
    pub fn book(&self, slot: SlotName) -> Result<Option<Book>, VaultError> {
        let path = self.book_path(slot);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(VaultError::Io(path, error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| VaultError::Damaged(path, error.to_string()))
    }

    /// Keeps `components`, writes the moves that lead from the book `before` to `after` into the audit log, and then
    /// the book. The old one stands until the new one does; components that it no longer names are removed.
    ///
    /// # Errors
    /// When what answers has not changed.
    pub(super) fn keep(
        &self,
        slot: SlotName,
        before: &Book,
        after: &Book,
        components: &[Blob],
    ) -> Result<(), VaultError> {
        self.make(slot)?;
        let _lock = self.lock()?;
        let kept = self.book(slot)?.unwrap_or_default();
        if kept.edition != before.edition {
            return Err(VaultError::Overtaken(kept.generation));
        }
        for blob in components {
            self.put(slot, blob)?;
        }
        self.append(&after.entries(slot, &kept))?;
        let path = self.book_path(slot);
        let text = serde_json::to_vec_pretty(after)
            .map_err(|error| VaultError::Damaged(path.clone(), error.to_string()))?;
        self.write(path, &[&text, b"\n"])?;
        self.sweep(slot, after);
        Ok(())
    }

    fn put(&self, slot: SlotName, blob: &Blob) -> Result<(), VaultError> {
        if let Some(signature) = &blob.signature {
            self.write(self.signature_path(slot, &blob.component), &[signature.as_bytes()])?;
        }
        self.write(self.component_path(slot, &blob.component), &[&blob.wasm])
    }

    /// Keeps a component that the book names already.
    pub(super) fn add(&self, slot: SlotName, blob: &Blob) -> Result<(), VaultError> {
        self.make(slot)?;
        let _lock = self.lock()?;
        self.put(slot, blob)
    }

    /// Whether a component is kept.
    pub(super) fn has(&self, slot: SlotName, component: &str) -> bool {
        self.component_path(slot, component).is_file()
    }

    /// A component that was kept, with what vouches for it.
    pub(super) fn blob(&self, slot: SlotName, component: &str, cap: usize) -> Result<Blob, VaultError> {
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
        files::replace(&path, parts).map_err(|error| VaultError::Io(path, error))
    }

    fn append(&self, entries: &[Entry]) -> Result<(), VaultError> {
        let path = self.audit_path();
        audit::append(&path, entries).map_err(|error| VaultError::Io(path, error))
    }

    /// Adds a move to the audit log that no book has.
    ///
    /// # Errors
    /// When it is not safely on disk.
    pub fn note(&self, slot: SlotName, entry: Entry) -> Result<(), VaultError> {
        self.make(slot)?;
        let _lock = self.lock()?;
        self.append(&[entry])
    }

    /// Adds a line to the audit log that is about no slot.
    ///
    /// # Errors
    /// When it is not safely on disk.
    pub fn note_configuration(&self, entry: Entry) -> Result<(), VaultError> {
        make_folder(self.folder.clone())?;
        let _lock = self.lock()?;
        self.append(&[entry])
    }

    /// The last `limit` moves, of one slot or of all.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn audit(&self, slot: Option<SlotName>, limit: usize) -> Result<Vec<Entry>, VaultError> {
        self.audit_of(slot.map(SlotName::as_str), limit)
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

    /// A component that was kept; of no more than `cap` bytes, and exactly the one that was.
    ///
    /// # Errors
    /// When it is not there, or not what it was.
    pub fn component(&self, slot: SlotName, component: &str, cap: usize) -> Result<Arc<[u8]>, VaultError> {
        let path = self.component_path(slot, component);
        let wasm = read_component(&path, cap)?;
        if ComponentDigest::of(&wasm).to_string() != component {
            return Err(VaultError::Damaged(path, "its digest is another".to_owned()));
        }
        Ok(wasm)
    }

    /// Removes components that the book does not name, and what a crash left half written. Failures cost disk only.
    fn sweep(&self, slot: SlotName, book: &Book) {
        let files_of = |record: &super::Record| {
            [self.component_path(slot, &record.component), self.signature_path(slot, &record.component)]
        };
        let named: Vec<PathBuf> = book.versions.iter().flat_map(files_of).collect();
        let Ok(files) = fs::read_dir(self.slot(slot)) else { return };
        for path in files.flatten().map(|file| file.path()) {
            let extension = path.extension().and_then(|extension| extension.to_str());
            // Under the lock nobody else is writing.
            let is_ours = extension == Some("wasm") || extension == Some(SIGNATURE);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::deploy::{Move, Record, Stage, tests::settings};

    const SLOT: SlotName = SlotName::Captcha;

    fn after(before: &Book, wasm: &[u8]) -> Book {
        let mut book = before.clone();
        let mut record = Record::new(ComponentDigest::of(wasm), wasm.len(), "test", &settings());
        record.step(Move::now(Stage::Active, "ops", "because"));
        book.active = Some(record.id.clone());
        book.receive(record);
        (book.generation, book.edition) = (before.generation + 1, before.edition + 1);
        book
    }

    fn component(book: &Book, wasm: &[u8]) -> [Blob; 1] {
        let component = book.active().unwrap().component.clone();
        [Blob { component, wasm: wasm.into(), signature: Some("signed".to_owned()) }]
    }

    #[test]
    fn what_is_kept_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path().join("slots"));
        assert_eq!(vault.book(SLOT).unwrap(), None);
        let (none, one) = (Book::default(), after(&Book::default(), b"one"));
        vault.keep(SLOT, &none, &one, &component(&one, b"one")).unwrap();
        let again = Vault::new(folder.path().join("slots"));
        assert_eq!(again.book(SLOT).unwrap().unwrap(), one);
        let name = &one.versions[0].component;
        assert_eq!(*again.component(SLOT, name, 3).unwrap(), *b"one");
        again.component(SLOT, name, 2).unwrap_err();
        let audit = again.audit(Some(SLOT), 9).unwrap();
        assert_eq!((audit.len(), audit[0].stage, audit[0].generation), (1, Stage::Active, 1));
        assert!(again.audit(Some(SlotName::Triage), 9).unwrap().is_empty());
    }

    #[test]
    fn components_that_no_version_names_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path().to_owned());
        let one = after(&Book::default(), b"one");
        vault.keep(SLOT, &Book::default(), &one, &component(&one, b"one")).unwrap();
        let mut two = after(&one, b"two");
        two.versions.remove(0);
        vault.keep(SLOT, &one, &two, &component(&two, b"two")).unwrap();
        vault.component(SLOT, &one.versions[0].component, 9).unwrap_err();
        let blob = vault.blob(SLOT, &two.versions[0].component, 9).unwrap();
        assert_eq!(blob.signature.as_deref(), Some("signed"));
        let files = fs::read_dir(folder.path().join(SLOT.as_str())).unwrap().count();
        assert_eq!(files, 3, "the book, a component and its signature");
    }

    #[test]
    fn a_damaged_component_or_book_is_not_taken_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path().to_owned());
        let one = after(&Book::default(), b"one");
        vault.keep(SLOT, &Book::default(), &one, &component(&one, b"one")).unwrap();
        fs::write(vault.component_path(SLOT, &one.versions[0].component), b"eno").unwrap();
        let error = vault.component(SLOT, &one.versions[0].component, 9).unwrap_err().to_string();
        assert!(error.contains("is damaged: its digest is another"), "{error}");
        fs::write(vault.book_path(SLOT), b"{").unwrap();
        vault.book(SLOT).unwrap_err();
        vault.keep(SLOT, &one, &after(&one, b"two"), &[]).unwrap_err();
        assert_eq!(fs::read(vault.book_path(SLOT)).unwrap(), b"{", "it is left for who can mend it");
    }

    #[test]
    fn of_two_hosts_on_one_folder_the_one_that_saw_less_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path().to_owned());
        let none = Book::default();
        let (one, other) = (after(&none, b"one"), after(&none, b"other"));
        vault.keep(SLOT, &none, &one, &component(&one, b"one")).unwrap();
        let refused = vault.keep(SLOT, &none, &other, &component(&other, b"other"));
        assert!(matches!(refused, Err(VaultError::Overtaken(1))), "{refused:?}");
        assert_eq!(vault.book(SLOT).unwrap().unwrap(), one);
        assert_eq!(vault.audit(None, 9).unwrap().len(), 1, "what did not happen is not in the log");
    }

    #[test]
    fn a_folder_that_takes_nothing_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("slots"), b"a file").unwrap();
        let vault = Vault::new(folder.path().join("slots"));
        let error = vault.keep(SLOT, &Book::default(), &after(&Book::default(), b"one"), &[]).unwrap_err();
        assert!(error.to_string().contains("make the data folder writable"), "{error}");
    }
}
