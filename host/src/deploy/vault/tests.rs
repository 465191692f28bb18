#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::{Mutex, PoisonError};

use super::*;
use crate::deploy::{Move, Record, Stage, tests::settings};

const SLOT: SlotId = SlotId::new("captcha");

type Look = Box<dyn FnMut(&Path) -> io::Result<()> + Send>;

/// What a test lets be written: all, unless it says otherwise. And what it says is free.
#[derive(Default)]
pub(super) struct Fault {
    look: Mutex<Option<Look>>,
    free: Mutex<Option<u64>>,
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fault")
    }
}

impl Fault {
    pub(super) fn look(&self, path: &Path) -> io::Result<()> {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        look.as_mut().map_or(Ok(()), |look| look(path))
    }

    pub(super) fn free(&self) -> Option<u64> {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, look: impl FnMut(&Path) -> io::Result<()> + Send + 'static) {
        *self.look.lock().unwrap() = Some(Box::new(look));
    }

    fn set_free(&self, bytes: u64) {
        *self.free.lock().unwrap() = Some(bytes);
    }
}

/// A disk that is full as long as the file at `reserve` is there.
fn full_beside(reserve: PathBuf) -> impl FnMut(&Path) -> io::Result<()> + Send {
    move |_| if reserve.exists() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

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
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let again = Vault::new(folder.path().join("slots"));
    assert_eq!(again.book(SLOT).unwrap().unwrap(), one);
    let name = &one.versions[0].component;
    assert_eq!(*again.component(SLOT, name, 3).unwrap(), *b"one");
    again.component(SLOT, name, 2).unwrap_err();
    let audit = again.audit(Some(SLOT), 9).unwrap();
    assert_eq!((audit.len(), audit[0].stage, audit[0].generation), (1, Stage::Active, 1));
    assert!(again.audit(Some(SlotId::new("triage")), 9).unwrap().is_empty());
}

#[test]
fn components_that_no_version_names_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let mut two = after(&one, b"two");
    two.versions.remove(0);
    vault.keep(SLOT, one.edition, &two, &component(&two, b"two")).unwrap();
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
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    fs::write(vault.component_path(SLOT, &one.versions[0].component), b"eno").unwrap();
    let error = vault.component(SLOT, &one.versions[0].component, 9).unwrap_err().to_string();
    assert!(error.contains("is damaged: its digest is another"), "{error}");
    fs::write(vault.book_path(SLOT), b"{").unwrap();
    vault.book(SLOT).unwrap_err();
    vault.keep(SLOT, one.edition, &after(&one, b"two"), &[]).unwrap_err();
    assert_eq!(fs::read(vault.book_path(SLOT)).unwrap(), b"{", "it is left for who can mend it");
}

#[test]
fn of_two_hosts_on_one_folder_the_one_that_saw_less_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let none = Book::default();
    let (one, other) = (after(&none, b"one"), after(&none, b"other"));
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let refused = vault.keep(SLOT, 0, &other, &component(&other, b"other"));
    assert!(matches!(refused, Err(VaultError::Overtaken(1))), "{refused:?}");
    assert_eq!(vault.book(SLOT).unwrap().unwrap(), one);
    assert_eq!(vault.audit(None, 9).unwrap().len(), 1, "what did not happen is not in the log");
}

#[test]
fn a_folder_that_takes_nothing_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("slots"), b"a file").unwrap();
    let vault = Vault::new(folder.path().join("slots"));
    let error = vault.keep(SLOT, 0, &after(&Book::default(), b"one"), &[]).unwrap_err();
    assert!(error.to_string().contains("make the data folder writable"), "{error}");
}

#[test]
fn full_disk_takes_rollback_for_the_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let reserve = folder.path().join("reserve");
    assert!(fs::metadata(&reserve).unwrap().len() >= 256 << 10, "it is made with the first write");

    vault.fault.set(full_beside(reserve.clone()));
    let two = after(&one, b"two");
    let refused = vault.keep(SLOT, one.edition, &two, &[]);
    assert!(matches!(refused, Err(VaultError::Io(_, error)) if error.kind() == io::ErrorKind::StorageFull));
    vault.keep_late(SLOT, one.edition, &two, &[]).unwrap_err();
    assert!(reserve.exists(), "only a rollback has it");
    vault.keep_rollback(SLOT, one.edition, &two, &[]).unwrap();
    assert_eq!(vault.book(SLOT).unwrap().unwrap(), two);
    assert!(reserve.exists(), "it is made again once there is room");
}

/// What a rollback has left of the room of its reserve is for the next one.
#[test]
fn room_of_a_missing_reserve_is_for_rollbacks() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let reserve = folder.path().join("reserve");
    vault.fault.set_free(504 << 10);
    let two = after(&one, b"two");
    vault.keep(SLOT, one.edition, &two, &component(&two, b"two")).unwrap();
    fs::remove_file(&reserve).unwrap();

    let three = after(&two, b"three");
    let blobs = component(&three, b"three");
    for keep in [Vault::keep, Vault::keep_late] {
        let refused = keep(&vault, SLOT, two.edition, &three, &blobs);
        assert!(
            matches!(&refused, Err(VaultError::Io(_, error)) if error.kind() == io::ErrorKind::StorageFull),
            "{refused:?}"
        );
    }
    vault.add(SLOT, &blobs[0]).unwrap_err();
    assert!(!vault.has(SLOT, &blobs[0].component));
    assert_eq!(vault.audit(None, 9).unwrap().len(), 2);
    vault.keep_rollback(SLOT, two.edition, &three, &blobs).unwrap();
    // That a version has retired, for one.
    let noted = Book { edition: three.edition + 1, ..three.clone() };
    vault.keep_late(SLOT, three.edition, &noted, &[]).unwrap();
    let three = noted;

    let four = after(&three, b"four");
    let large = vec![0; 1 << 20];
    vault.fault.set_free(1 << 20);
    vault.keep(SLOT, three.edition, &four, &component(&four, &large)).unwrap_err();
    assert!(!reserve.exists());
    vault.fault.set_free(4 << 20);
    vault.keep(SLOT, three.edition, &four, &component(&four, &large)).unwrap();
    assert!(reserve.exists(), "it is made again once there is room");
}

#[test]
fn refused_change_leaves_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let log = || fs::read(folder.path().join("audit.jsonl")).unwrap();
    let whole = log();
    let book = vault.book_path(SLOT);
    vault.fault.set(move |path| if path == book { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) });
    let two = after(&one, b"two");
    vault.keep(SLOT, one.edition, &two, &[]).unwrap_err();
    assert_eq!(log(), whole);

    // What counts already keeps its line, whatever is refused after it.
    vault.keep_late(SLOT, one.edition, &two, &[]).unwrap_err();
    let late = log();
    assert!(late.len() > whole.len());
    let three = after(&two, b"three");
    vault.keep(SLOT, one.edition, &three, &[]).unwrap_err();
    assert_eq!(log(), late);
    vault.fault.set(|_| Ok(()));
    vault.keep(SLOT, one.edition, &three, &[]).unwrap();
    let generations: Vec<_> = vault.audit(None, 9).unwrap().iter().map(|entry| entry.generation).collect();
    assert_eq!(generations, [1, 2, 3], "a line for each version's move");
}

/// A book may be in its place though its write has failed: its folder could not be synchronised.
#[test]
fn failed_write_that_came_about_is_no_other_host() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let book = vault.book_path(SLOT);
    let blocked = book.clone();
    vault.fault.set(move |path| if path == blocked { Err(io::ErrorKind::Other.into()) } else { Ok(()) });
    let two = after(&one, b"two");
    vault.keep(SLOT, one.edition, &two, &[]).unwrap_err();
    vault.fault.set(|_| Ok(()));
    fs::write(&book, [&serde_json::to_vec_pretty(&two).unwrap()[..], b"\n"].concat()).unwrap();
    let three = after(&one, b"three");
    vault.keep(SLOT, one.edition, &three, &[]).unwrap();

    let strange = after(&three, b"strange");
    Vault::new(folder.path().to_owned()).keep(SLOT, three.edition, &strange, &[]).unwrap();
    let refused = vault.keep(SLOT, three.edition, &after(&three, b"four"), &[]).unwrap_err();
    assert!(matches!(refused, VaultError::Overtaken(_)), "{refused}");
}

#[test]
fn other_errors_leave_the_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    vault.fault.set(|_| Err(io::ErrorKind::ReadOnlyFilesystem.into()));
    vault.keep_rollback(SLOT, one.edition, &after(&one, b"two"), &[]).unwrap_err();
    assert!(folder.path().join("reserve").exists());
}

#[test]
fn urgent_write_tried_again_logs_moves_once() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path().to_owned());
    let one = after(&Book::default(), b"one");
    vault.keep(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let book = vault.book_path(SLOT);
    vault.fault.set(move |path| if path == book { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) });
    let two = after(&one, b"two");
    for _ in 0..3 {
        vault.keep_rollback(SLOT, one.edition, &two, &[]).unwrap_err();
    }
    assert_eq!(vault.book(SLOT).unwrap().unwrap(), one);
    vault.fault.set(|_| Ok(()));
    vault.keep_rollback(SLOT, one.edition, &two, &[]).unwrap();
    assert_eq!(vault.audit(None, 9).unwrap().len(), 2, "a line for each version's move");
}

#[test]
fn built_in_note_holds_for_its_host_only() {
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str| folder.path().join(name).join("host.key");
    let wasm = b"built in".as_slice();
    let vault = Vault::new(folder.path().join("slots")).keyed(key("one")).carrying([(SLOT, wasm)]);
    let own = after(&Book::default(), wasm);
    vault.keep(SLOT, 0, &own, &component(&own, wasm)).unwrap();
    let other = after(&own, b"pushed");
    vault.keep(SLOT, own.edition, &other, &component(&other, b"pushed")).unwrap();
    let [own, pushed] = [&other.versions[0].component, &other.versions[1].component];
    assert!(vault.was_built_in(SLOT, own) && !vault.was_built_in(SLOT, pushed));
    fs::copy(vault.built_in_path(SLOT, own), vault.built_in_path(SLOT, pushed)).unwrap();
    assert!(!vault.was_built_in(SLOT, pushed), "a note is of one component");
    let stranger = Vault::new(folder.path().join("slots")).keyed(key("other"));
    assert!(!stranger.was_built_in(SLOT, own), "and of one host");
}
