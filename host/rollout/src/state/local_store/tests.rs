//! Tests of the local store: saved states, the reserve and the audit log.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::{Mutex, PoisonError};

use super::*;
use crate::{AuditEntry, Move, Stage, VersionRecord, tests::settings};

pub(super) const SLOT: SlotId = SlotId::new("captcha");

type Check = Box<dyn FnMut(&Path) -> io::Result<()> + Send>;

/// Decides which writes of a test fail and how much space is free; by default all writes succeed.
#[derive(Default)]
pub(super) struct WriteFault {
    check: Mutex<Option<Check>>,
    free: Mutex<Option<u64>>,
}

impl std::fmt::Debug for WriteFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteFault")
    }
}

impl WriteFault {
    pub(super) fn check(&self, path: &Path) -> io::Result<()> {
        let mut check = self.check.lock().unwrap_or_else(PoisonError::into_inner);
        check.as_mut().map_or(Ok(()), |check| check(path))
    }

    pub(super) fn free(&self) -> Option<u64> {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, check: impl FnMut(&Path) -> io::Result<()> + Send + 'static) {
        *self.check.lock().unwrap() = Some(Box::new(check));
    }

    fn set_free(&self, bytes: u64) {
        *self.free.lock().unwrap() = Some(bytes);
    }
}

impl LocalStore {
    /// Has a test check each write before it is made.
    pub(crate) fn check_writes(&self, check: impl FnMut(&Path) -> io::Result<()> + Send + 'static) {
        self.fault.set(check);
    }
}

/// Simulates a disk that is full as long as the file at `reserve` exists.
fn full_while_exists(reserve: PathBuf) -> impl FnMut(&Path) -> io::Result<()> + Send {
    move |_| if reserve.exists() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

pub(super) fn after(before: &SlotState, wasm: &[u8]) -> SlotState {
    let mut state = before.clone();
    let mut record = VersionRecord::new(ComponentDigest::of(wasm), wasm.len(), "test", &settings());
    record.step(Move::now(Stage::Active, "ops", "because"));
    state.active = Some(record.id.clone());
    state.receive(record);
    (state.generation, state.revision) = (before.generation + 1, before.revision + 1);
    state
}

pub(super) fn component(state: &SlotState, wasm: &[u8]) -> [Blob; 1] {
    let component = state.active().unwrap().component.clone();
    [Blob { component, wasm: wasm.into(), signature: Some("signed".to_owned()) }]
}

#[test]
fn saved_state_and_components_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().join("slots"));
    assert_eq!(store.state(SLOT).unwrap(), None);
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let again = LocalStore::new(folder.path().join("slots"));
    assert_eq!(again.state(SLOT).unwrap().unwrap(), one);
    let name = &one.versions[0].component;
    assert_eq!(*again.component(SLOT, name, 3).unwrap(), *b"one");
    again.component(SLOT, name, 2).unwrap_err();
    let audit = again.audit(Some(SLOT), 9).unwrap();
    assert_eq!((audit.len(), audit[0].stage, audit[0].generation), (1, Stage::Active, 1));
    assert!(again.audit(Some(SlotId::new("triage")), 9).unwrap().is_empty());
}

#[test]
fn unreferenced_components_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let mut two = after(&one, b"two");
    two.versions.remove(0);
    store.save(SLOT, one.revision, &two, &component(&two, b"two")).unwrap();
    store.component(SLOT, &one.versions[0].component, 9).unwrap_err();
    let blob = store.blob(SLOT, &two.versions[0].component, 9).unwrap();
    assert_eq!(blob.signature.as_deref(), Some("signed"));
    let files = fs::read_dir(folder.path().join(SLOT.as_str())).unwrap().count();
    assert_eq!(files, 4, "the state, the one before it, a component and its signature");
}

#[test]
fn damaged_component_or_state_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    fs::write(store.component_path(SLOT, &one.versions[0].component), b"eno").unwrap();
    let error = store.component(SLOT, &one.versions[0].component, 9).unwrap_err().to_string();
    assert!(error.contains("is damaged: its digest differs"), "{error}");
    fs::write(store.state_path(SLOT), b"{").unwrap();
    store.state(SLOT).unwrap_err();
    store.save(SLOT, one.revision, &after(&one, b"two"), &[]).unwrap_err();
    assert_eq!(fs::read(store.state_path(SLOT)).unwrap(), b"{", "the next start sets it aside");
}

#[test]
fn damaged_or_missing_state_becomes_previous() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let two = after(&one, b"two");
    store.save(SLOT, one.revision, &two, &component(&two, b"two")).unwrap();
    assert_eq!(store.restore_state(SLOT).unwrap().unwrap(), two, "it is intact");
    let whole = fs::read(store.state_path(SLOT)).unwrap();
    for damaged in [&whole[..whole.len() / 2], &vec![0; whole.len()][..], b""] {
        fs::write(store.state_path(SLOT), damaged).unwrap();
        assert_eq!(store.restore_state(SLOT).unwrap().unwrap(), one);
        let aside = store.damaged_files.all().remove(&store.state_path(SLOT)).unwrap();
        assert_eq!(fs::read(aside).unwrap(), damaged);
        assert_eq!(store.state(SLOT).unwrap().unwrap(), one, "it is on disk");
    }
    // A restoration that was interrupted, and a file that is gone.
    for is_kept in [true, false] {
        let aside = DamagedFiles::default().set_aside(&store.state_path(SLOT)).unwrap();
        if !is_kept {
            fs::remove_file(aside).unwrap();
        }
        assert_eq!(store.restore_state(SLOT).unwrap().unwrap(), one);
    }
    store.save(SLOT, one.revision, &two, &component(&two, b"two")).unwrap();
    assert_eq!(store.state(SLOT).unwrap().unwrap(), two);
}

#[test]
fn damaged_first_state_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    fs::write(store.state_path(SLOT), b"{").unwrap();
    assert_eq!(store.restore_state(SLOT).unwrap(), None);
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    fs::write(store.state_path(SLOT), b"{").unwrap();
    fs::write(folder.path().join("captcha/book.previous.json"), b"{").unwrap();
    assert_eq!(store.restore_state(SLOT).unwrap(), None, "both are damaged");
}

#[test]
fn cut_reserve_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    assert!(store.ensure_reserve());
    let reserve = folder.path().join("reserve");
    let whole = fs::metadata(&reserve).unwrap().len();
    File::options().write(true).open(&reserve).unwrap().set_len(7).unwrap();
    store.fault.set_free(0);
    assert!(!store.ensure_reserve(), "it holds no room");
    store.fault.set_free(64 << 20);
    assert!(store.ensure_reserve());
    assert_eq!(fs::metadata(&reserve).unwrap().len(), whole);
}

#[test]
fn temporary_files_of_crash_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    store.recover();
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let left = folder.path().join("reserve.1234.tmp");
    fs::write(&left, b"half").unwrap();
    store.recover();
    assert!(!left.exists() && folder.path().join("reserve").exists());
    assert_eq!(store.state(SLOT).unwrap().unwrap(), one);
}

#[test]
fn lost_audit_log_names_its_slots() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    assert!(store.slots_without_last_move().is_empty());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let log = folder.path().join("audit.jsonl");
    let first = fs::read(&log).unwrap();
    let two = after(&one, b"two");
    store.save(SLOT, 1, &two, &component(&two, b"two")).unwrap();
    assert!(store.slots_without_last_move().is_empty());
    let whole = fs::read(&log).unwrap();
    for lost in [&first[..], b""] {
        fs::write(&log, lost).unwrap();
        assert_eq!(store.slots_without_last_move(), [SLOT]);
    }
    fs::remove_file(&log).unwrap();
    assert_eq!(store.slots_without_last_move(), [SLOT]);
    fs::write(&log, whole).unwrap();
    let refused = Move::now(Stage::Refused, "ops", "a push of a known version");
    let refused = AuditEntry::new(SLOT, 2, &two.versions[0], &refused);
    store.append_entries(&vec![refused; 200]).unwrap();
    assert!(store.slots_without_last_move().is_empty());
}

#[test]
fn stale_host_on_shared_folder_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let none = SlotState::default();
    let (one, other) = (after(&none, b"one"), after(&none, b"other"));
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let refused = store.save(SLOT, 0, &other, &component(&other, b"other"));
    assert!(matches!(refused, Err(LocalStoreError::Conflict(1))), "{refused:?}");
    assert_eq!(store.state(SLOT).unwrap().unwrap(), one);
    assert_eq!(store.audit(None, 9).unwrap().len(), 1, "a rejected change is not in the log");
}

#[test]
fn unwritable_folder_rejects_the_change() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("slots"), b"a file").unwrap();
    let store = LocalStore::new(folder.path().join("slots"));
    let error = store.save(SLOT, 0, &after(&SlotState::default(), b"one"), &[]).unwrap_err();
    assert!(error.to_string().contains("make the data folder writable"), "{error}");
}

#[test]
fn full_disk_releases_reserve_for_rollback() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let reserve = folder.path().join("reserve");
    assert!(fs::metadata(&reserve).unwrap().len() >= 256 << 10, "the first write creates it");

    store.fault.set(full_while_exists(reserve.clone()));
    let two = after(&one, b"two");
    let refused = store.save(SLOT, one.revision, &two, &[]);
    assert!(
        matches!(refused, Err(LocalStoreError::Io(_, error)) if error.kind() == io::ErrorKind::StorageFull)
    );
    store.save_applied(SLOT, one.revision, &two, &[]).unwrap_err();
    assert!(reserve.exists(), "only a rollback may use it");
    store.save_rollback(SLOT, one.revision, &two, &[]).unwrap();
    assert_eq!(store.state(SLOT).unwrap().unwrap(), two);
    assert!(reserve.exists(), "it is created again once there is room");
}

/// Space that a rollback has taken from its reserve stays free for the next one.
#[test]
fn space_of_missing_reserve_stays_for_rollbacks() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(LocalStore::new(folder.path().to_owned()));
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let reserve = folder.path().join("reserve");
    store.fault.set_free(504 << 10);
    let two = after(&one, b"two");
    store.save(SLOT, one.revision, &two, &component(&two, b"two")).unwrap();
    fs::remove_file(&reserve).unwrap();

    let three = after(&two, b"three");
    let blobs = component(&three, b"three");
    for save in [LocalStore::save, LocalStore::save_applied] {
        let refused = save(&store, SLOT, two.revision, &three, &blobs);
        assert!(
            matches!(&refused, Err(LocalStoreError::Io(_, error)) if error.kind() == io::ErrorKind::StorageFull),
            "{refused:?}"
        );
    }
    store.add_blob(SLOT, &blobs[0]).unwrap_err();
    assert!(!store.has_component(SLOT, &blobs[0].component));
    assert_eq!(store.audit(None, 9).unwrap().len(), 2);
    store.save_rollback(SLOT, two.revision, &three, &blobs).unwrap();
    // For example, that a version has retired.
    let noted = SlotState { revision: three.revision + 1, ..three.clone() };
    store.save_applied(SLOT, three.revision, &noted, &[]).unwrap();
    let three = noted;

    let four = after(&three, b"four");
    let large = vec![0; 1 << 20];
    store.fault.set_free(1 << 20);
    store.save(SLOT, three.revision, &four, &component(&four, &large)).unwrap_err();
    assert!(!reserve.exists());
    store.fault.set_free(4 << 20);
    store.save(SLOT, three.revision, &four, &component(&four, &large)).unwrap();
    assert!(reserve.exists(), "it is created again once there is room");
}

#[test]
fn rejected_change_leaves_no_audit_line() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let log = || fs::read(folder.path().join("audit.jsonl")).unwrap();
    let whole = log();
    let state = store.state_path(SLOT);
    store.fault.set(move |path| if path == state { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) });
    let two = after(&one, b"two");
    store.save(SLOT, one.revision, &two, &[]).unwrap_err();
    assert_eq!(log(), whole);

    // A change that is in effect keeps its line, whatever is rejected after it.
    store.save_applied(SLOT, one.revision, &two, &[]).unwrap_err();
    let late = log();
    assert!(late.len() > whole.len());
    let three = after(&two, b"three");
    store.save(SLOT, one.revision, &three, &[]).unwrap_err();
    assert_eq!(log(), late);
    store.fault.set(|_| Ok(()));
    store.save(SLOT, one.revision, &three, &[]).unwrap();
    let generations: Vec<_> = store.audit(None, 9).unwrap().iter().map(|entry| entry.generation).collect();
    assert_eq!(generations, [1, 2, 3], "a line for each version's move");
}

/// A state may be on disk although its write failed, because its folder could not be synchronised.
#[test]
fn failed_write_found_on_disk_is_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let state = store.state_path(SLOT);
    let blocked = state.clone();
    store.fault.set(move |path| if path == blocked { Err(io::ErrorKind::Other.into()) } else { Ok(()) });
    let two = after(&one, b"two");
    store.save(SLOT, one.revision, &two, &[]).unwrap_err();
    store.fault.set(|_| Ok(()));
    fs::write(&state, [&serde_json::to_vec_pretty(&two).unwrap()[..], b"\n"].concat()).unwrap();
    let three = after(&one, b"three");
    store.save(SLOT, one.revision, &three, &[]).unwrap();

    let strange = after(&three, b"strange");
    LocalStore::new(folder.path().to_owned()).save(SLOT, three.revision, &strange, &[]).unwrap();
    let refused = store.save(SLOT, three.revision, &after(&three, b"four"), &[]).unwrap_err();
    assert!(matches!(refused, LocalStoreError::Conflict(_)), "{refused}");
}

#[test]
fn other_errors_keep_the_reserve() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    store.fault.set(|_| Err(io::ErrorKind::ReadOnlyFilesystem.into()));
    store.save_rollback(SLOT, one.revision, &after(&one, b"two"), &[]).unwrap_err();
    assert!(folder.path().join("reserve").exists());
}

#[test]
fn retried_rollback_logs_moves_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::new(folder.path().to_owned());
    let one = after(&SlotState::default(), b"one");
    store.save(SLOT, 0, &one, &component(&one, b"one")).unwrap();
    let state = store.state_path(SLOT);
    store.fault.set(move |path| if path == state { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) });
    let two = after(&one, b"two");
    for _ in 0..3 {
        store.save_rollback(SLOT, one.revision, &two, &[]).unwrap_err();
    }
    assert_eq!(store.state(SLOT).unwrap().unwrap(), one);
    store.fault.set(|_| Ok(()));
    store.save_rollback(SLOT, one.revision, &two, &[]).unwrap();
    assert_eq!(store.audit(None, 9).unwrap().len(), 2, "a line for each version's move");
}

#[test]
fn built_in_note_binds_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str| folder.path().join(name).join("host.key");
    let wasm = b"built in".as_slice();
    let store =
        LocalStore::new(folder.path().join("slots")).with_key(key("one")).with_built_in([(SLOT, wasm)]);
    let own = after(&SlotState::default(), wasm);
    store.save(SLOT, 0, &own, &component(&own, wasm)).unwrap();
    let other = after(&own, b"pushed");
    store.save(SLOT, own.revision, &other, &component(&other, b"pushed")).unwrap();
    let [own, pushed] = [&other.versions[0].component, &other.versions[1].component];
    assert!(store.was_built_in(SLOT, own) && !store.was_built_in(SLOT, pushed));
    fs::copy(store.built_in_path(SLOT, own), store.built_in_path(SLOT, pushed)).unwrap();
    assert!(!store.was_built_in(SLOT, pushed), "a note is of one component");
    let stranger = LocalStore::new(folder.path().join("slots")).with_key(key("other"));
    assert!(!stranger.was_built_in(SLOT, own), "and of one host");
}
