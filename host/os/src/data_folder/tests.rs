//! Tests of the format of a data folder and of its upgrade.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{os::unix::fs::PermissionsExt as _, process};

use tempfile::TempDir;

use super::*;

const STATES: &str = "states";
const STATE: &str = "states/one/state.json";

/// Returns a folder of the first format with a state.
fn of_first_format() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("states/one")).unwrap();
    fs::write(folder.path().join(STATE), "old").unwrap();
    fs::write(folder.path().join("database"), "rows").unwrap();
    folder
}

fn open(folder: &TempDir) -> DataFolder {
    DataFolder::open(folder.path(), STATES).unwrap()
}

fn is_current(folder: &TempDir) -> bool {
    check(folder.path()).unwrap() == FolderFormat::Named(FORMAT)
}

#[test]
fn new_folder_gets_its_format() {
    let folder = TempDir::new().unwrap();
    assert_eq!(check(&folder.path().join("missing")).unwrap(), FolderFormat::Unnamed);
    for _ in 0..2 {
        assert!(matches!(open(&folder).opened, Opened::Current));
        assert!(is_current(&folder));
    }
    assert!(!folder.path().join(COPIES).exists());
}

#[test]
fn older_folder_keeps_a_copy() {
    let folder = of_first_format();
    let Opened::Upgraded { from, copy } = open(&folder).opened else { unreachable!("not upgraded") };
    assert_eq!((from, &copy), (FIRST_FORMAT, &folder.path().join("copies/format-1")));
    assert!(is_current(&folder));
    fs::write(folder.path().join(STATE), "new").unwrap();
    assert_eq!(fs::read_to_string(copy.join(STATE)).unwrap(), "old");
    assert!(!copy.join("database").exists());
    for private in [folder.path().join(COPIES), copy.clone(), copy.join(STATES)] {
        assert_eq!(fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o700);
    }
    assert!(matches!(open(&folder).opened, Opened::Current));
}

#[test]
fn interrupted_upgrade_is_done_again() {
    let folder = of_first_format();
    let copies = folder.path().join(COPIES);
    fs::create_dir_all(copies.join("format-1.tmp/states/half")).unwrap();
    assert!(matches!(open(&folder).opened, Opened::Upgraded { .. }));
    assert_eq!(fs::read_to_string(copies.join("format-1").join(STATE)).unwrap(), "old");
    assert_eq!(fs::read_dir(&copies).unwrap().count(), 1);
}

#[test]
fn later_upgrade_replaces_the_copy() {
    let folder = of_first_format();
    for state in ["old", "changed by an older version"] {
        fs::write(folder.path().join(STATE), state).unwrap();
        let _ = fs::remove_file(folder.path().join(FORMAT_FILE));
        let Opened::Upgraded { copy, .. } = open(&folder).opened else { unreachable!("not upgraded") };
        assert_eq!(fs::read_to_string(copy.join(STATE)).unwrap(), state);
        assert_eq!(fs::read_dir(folder.path().join(COPIES)).unwrap().count(), 1);
    }
}

#[test]
fn newer_format_is_refused_unchanged() {
    let folder = of_first_format();
    let newer = format!("format {} of the data folder\n", FORMAT + 1);
    fs::write(folder.path().join(FORMAT_FILE), &newer).unwrap();
    let refused = DataFolder::open(folder.path(), STATES).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
    let text = refused.to_string();
    let named = [format!("format {}", FORMAT + 1), folder.path().display().to_string()];
    assert!(named.iter().all(|name| text.contains(name)), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join(FORMAT_FILE)).unwrap(), newer);
    assert!(!folder.path().join(COPIES).exists());
}

#[test]
fn damaged_format_is_written_again() {
    let whole = format!("format {FORMAT} of the data folder\n");
    let cut = (0..whole.len()).map(|length| whole.as_bytes()[..length].to_vec());
    let garbled = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone().into_bytes();
        bytes[at..].fill(0xff);
        bytes
    });
    for bytes in cut.chain(garbled).chain([vec![b'1'; FORMAT_BYTES + 1]]) {
        let folder = of_first_format();
        fs::write(folder.path().join(FORMAT_FILE), &bytes).unwrap();
        assert_eq!(check(folder.path()).unwrap(), FolderFormat::Damaged, "{bytes:?}");
        assert!(matches!(open(&folder).opened, Opened::Restored), "{bytes:?}");
        assert!(is_current(&folder));
    }
}

#[test]
fn used_folder_is_not_upgraded() {
    let folder = of_first_format();
    let used = open(&folder);
    fs::remove_file(folder.path().join(FORMAT_FILE)).unwrap();
    let Opened::Kept { reason } = open(&folder).opened else { unreachable!("upgraded") };
    assert_eq!(reason.to_string(), "another host uses it");
    assert_eq!(users(folder.path()), [process::id()]);
    drop(used);
    assert_eq!(users(folder.path()), [0_u32; 0]);
    assert!(matches!(open(&folder).opened, Opened::Upgraded { .. }));
}

#[test]
fn failed_copy_leaves_the_folder() {
    let folder = of_first_format();
    // No folder can be made below a file.
    fs::write(folder.path().join(COPIES), "").unwrap();
    assert!(matches!(open(&folder).opened, Opened::Kept { .. }));
    assert_eq!(check(folder.path()).unwrap(), FolderFormat::Unnamed);
    assert_eq!(fs::read_to_string(folder.path().join(STATE)).unwrap(), "old");
}

#[test]
fn locks_are_read_as_listed() {
    let file = "fe:00:5464105";
    for (line, process) in [
        ("1: FLOCK  ADVISORY  WRITE 23175 fe:00:5464105 0 EOF", Some(23_175)),
        ("2: FLOCK  ADVISORY  READ 7 fe:00:5464105 0 EOF", Some(7)),
        ("2: FLOCK  ADVISORY  READ 7 fe:01:5464105 0 EOF", None),
        ("2: -> FLOCK  ADVISORY  READ 7 fe:00:5464105 0 EOF", None),
        ("3: POSIX  ADVISORY  WRITE 23175 fe:00:5464105 0 EOF", None),
        ("", None),
    ] {
        assert_eq!(user(line, file), process, "{line}");
    }
}
