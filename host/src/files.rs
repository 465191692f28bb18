//! Files that are whole or not there, whatever ends the process or the machine.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Writes `parts` beside `path` and renames: readers, and whoever comes after a crash, see the old file or the
/// whole new one. Only this user can read it.
///
/// # Errors
/// What the operating system says; the old file is then still there.
pub fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let beside = path.with_extension(format!("{}.tmp", uuid::Uuid::new_v4()));
    let write = |file: &mut File| {
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    };
    let written = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut file| write(&mut file))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written?;
    // A rename is in the folder's own pages.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        for text in ["first", "second, longer"] {
            replace(&path, &[text.as_bytes(), b"\n"]).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{text}\n"));
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        replace(&folder.path().join("none/state.json"), &[b"x"]).unwrap_err();
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        replace(&taken, &[b"x"]).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing stays beside it");
    }
}
