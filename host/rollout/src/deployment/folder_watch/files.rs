//! Files in a watched folder: their names, their bytes, and which of them are complete.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{self, Path},
    sync::Arc,
    time::{Duration, SystemTime},
};

use bulkhead_os::files;
use bulkhead_runtime::compile::ComponentDigest;
use rustix::fs::OFlags;

use super::NAME_RULE;
use crate::Proof;

/// Longest name of a component file, bytes.
const NAME_BYTES: usize = 100;
/// Largest `.minisig` file, bytes; typical ones have 300.
const SIGNATURE_BYTES: usize = 4096;
/// Time without writes after which a file that existed at the start counts as complete.
const SETTLE_TIME: Duration = Duration::from_secs(60);

/// Returns whether a name is valid for a component file: letters, digits, `.`, `_` and `-`, the first a letter or
/// digit, with `.wasm` at the end.
pub(super) fn is_valid_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.len() <= NAME_BYTES
        && name.strip_suffix(".wasm").is_some_and(|stem| !stem.is_empty())
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(known)
}

/// Returns whether a name has the extension of a component, in upper or lower case.
pub(super) fn is_component_name(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("wasm"))
}

/// Reads a file of at most `cap` bytes; `None` if it is missing. Links are followed within the folder only, as
/// volumes of Kubernetes and git working trees need.
fn read(folder: &Path, name: &str, cap: usize) -> io::Result<Option<Vec<u8>>> {
    let absent = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(None),
        _ => Err(error),
    };
    let path = match fs::canonicalize(folder.join(name)) {
        Ok(path) => path,
        Err(error) => return absent(error),
    };
    if !path.starts_with(fs::canonicalize(folder)?) {
        return Err(io::Error::other("it is a link that leads out of the folder; move the file itself in"));
    }
    files::read_with(&path, cap, OFlags::NOFOLLOW).map_or_else(absent, |bytes| Ok(Some(bytes)))
}

/// Reads a component and the signature file beside it.
pub(super) fn read_component_file(folder: &Path, name: &str, cap: usize) -> io::Result<(Arc<[u8]>, Proof)> {
    let wasm = read(folder, name, cap)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let proof = match read(folder, &format!("{name}.minisig"), SIGNATURE_BYTES)? {
        Some(text) => Proof::Signature(String::from_utf8(text).map_err(io::Error::other)?),
        None => Proof::None,
    };
    Ok((wasm.into(), proof))
}

/// Returns whether the folder's path contains a link, so that the folder may be replaced as a whole.
pub(super) fn is_linked(folder: &Path) -> bool {
    fs::canonicalize(folder).ok() != path::absolute(folder).ok()
}

/// Which files of a folder are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileSelection {
    /// All files, because the folder has been replaced as a whole.
    All,
    /// Links only, because a link is replaced atomically and leads to a complete file.
    Links,
}

/// The components of a folder by name, and the ignored names with the reasons.
#[derive(Debug, Default)]
pub(super) struct FolderScan {
    pub(super) seen: BTreeMap<String, ComponentDigest>,
    pub(super) ignored: BTreeMap<String, String>,
}

/// Reads the components of a folder.
pub(super) fn scan(folder: &Path, selection: FileSelection, cap: usize) -> io::Result<FolderScan> {
    let mut scan_result = FolderScan::default();
    for file in fs::read_dir(folder)?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let is_link = file.file_type().is_ok_and(|kind| kind.is_symlink());
        let is_other = name.starts_with('.') && !is_component_name(&name) || name.ends_with(".minisig");
        // A link is read whatever its name; a whole tree may contain unrelated files.
        if is_other || !(is_link || selection == FileSelection::All && is_component_name(&name)) {
            continue;
        }
        let reason = match is_valid_name(&name).then(|| read(folder, &name, cap)) {
            Some(Ok(Some(wasm))) => {
                scan_result.seen.insert(name, ComponentDigest::of(&wasm));
                continue;
            }
            Some(Ok(None)) if is_link => "it is a link that leads nowhere; point it to a file".to_owned(),
            Some(Ok(None)) => continue,
            Some(Err(error)) => error.to_string(),
            None => NAME_RULE.to_owned(),
        };
        scan_result.ignored.insert(name, reason);
    }
    Ok(scan_result)
}

/// The newest component file of a folder, and the ignored names with the reasons.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NewestFile {
    pub(super) newest: Option<String>,
    pub(super) ignored: Vec<(String, &'static str)>,
    pub(super) unsettled: Option<Unsettled>,
}

/// Files that were written a moment ago.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) names: Vec<String>,
    /// Time until the first of them counts as complete, if it is not written to.
    pub(super) wait: Duration,
}

impl NewestFile {
    fn wait_for(&mut self, name: &str, wait: Duration) {
        let unsettled = self.unsettled.get_or_insert(Unsettled { names: Vec::new(), wait });
        unsettled.names.push(name.to_owned());
        unsettled.wait = unsettled.wait.min(wait);
    }
}

/// Finds the newest component file among those whose names are `wanted`. A file counts as complete if `selection`
/// covers it or if it has not been written to for a while.
pub(super) fn find_newest(
    folder: &Path,
    selection: FileSelection,
    wanted: impl Fn(&str) -> bool,
) -> io::Result<NewestFile> {
    let (mut newest, mut found) = (None::<(SystemTime, String)>, NewestFile::default());
    for file in fs::read_dir(folder)?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if !is_component_name(&name) || !wanted(&name) {
            continue;
        }
        let is_link = file.file_type().is_ok_and(|kind| kind.is_symlink());
        let modified = fs::metadata(file.path()).ok().filter(fs::Metadata::is_file);
        let modified = modified.and_then(|found| found.modified().ok());
        // A time in the future comes from a wrong clock.
        let age = |at: &SystemTime| at.elapsed().unwrap_or_default();
        let is_whole = |at: &SystemTime| selection == FileSelection::All || is_link || age(at) >= SETTLE_TIME;
        let ignored = match (is_valid_name(&name), modified) {
            (false, _) => (name, NAME_RULE),
            (true, None) => (name, "it is not a readable file; move a file in"),
            (true, Some(at)) if !is_whole(&at) => {
                found.wait_for(&name, SETTLE_TIME.saturating_sub(age(&at)));
                (
                    name,
                    "it was written a moment ago and may be incomplete; it is read again once it has not been \
                     written to for a minute",
                )
            }
            (true, Some(at)) => match &newest {
                Some((known, _)) if at <= *known => (name, "another file is newer"),
                _ => match newest.replace((at, name)) {
                    Some((_, older)) => (older, "another file is newer"),
                    None => continue,
                },
            },
        };
        found.ignored.push(ignored);
    }
    found.ignored.sort();
    found.newest = newest.map(|(_, name)| name);
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{fs::File, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn component_names_are_restricted() {
        for good in ["a.wasm", "captcha-2.1_rc.wasm", "9.wasm"] {
            assert!(is_valid_name(good), "{good}");
        }
        let long = format!("{}.wasm", "a".repeat(NAME_BYTES));
        for bad in [
            "",
            ".wasm",
            ".a.wasm",
            "-a.wasm",
            "a.wasm.tmp",
            "a.WASM",
            "a",
            "a b.wasm",
            "ä.wasm",
            "../a.wasm",
            "a\n.wasm",
            &long,
        ] {
            assert!(!is_valid_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn only_plain_files_are_read() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        fs::create_dir_all(folder.join("..data")).unwrap();
        let path = |name: &str| folder.join(name);
        fs::write(path("a.wasm"), b"12345").unwrap();
        fs::write(path("..data/b.wasm"), b"12345").unwrap();
        fs::write(root.path().join("secret"), b"12345").unwrap();
        assert_eq!(read(&folder, "a.wasm", 5).unwrap().unwrap(), b"12345");
        read(&folder, "a.wasm", 4).unwrap_err();
        assert!(read(&folder, "none.wasm", 5).unwrap().is_none());
        symlink("..data/b.wasm", path("b.wasm")).unwrap();
        assert_eq!(read(&folder, "b.wasm", 5).unwrap().unwrap(), b"12345");
        symlink("../secret", path("out.wasm")).unwrap();
        let refused = read(&folder, "out.wasm", 5).unwrap_err().to_string();
        assert!(refused.contains("leads out of the folder"), "{refused}");
        symlink("loop.wasm", path("loop.wasm")).unwrap();
        read(&folder, "loop.wasm", 5).unwrap_err();
        fs::create_dir(path("folder.wasm")).unwrap();
        read(&folder, "folder.wasm", 5).unwrap_err();
        let seen = |selection| scan(&folder, selection, 5).unwrap().seen.into_keys().collect::<Vec<_>>();
        assert_eq!(seen(FileSelection::All), ["a.wasm", "b.wasm"]);
        assert_eq!(seen(FileSelection::Links), ["b.wasm"]);
    }

    #[test]
    fn ignored_files_have_a_reason() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        let path = |name: &str| folder.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(root.path().join("outside"), b"1").unwrap();
        for name in ["large.wasm", "A.WASM", "two words.wasm", "README.md"] {
            fs::write(path(name), b"123456").unwrap();
        }
        for (target, link) in
            [("../outside", "out.wasm"), ("none", "dangling.wasm"), ("A.WASM", "captcha"), ("none", "..data")]
        {
            symlink(target, path(link)).unwrap();
        }
        let mut expected = BTreeMap::from([
            ("captcha", "components are called NAME.wasm"),
            ("dangling.wasm", "leads nowhere"),
            ("out.wasm", "leads out of the folder"),
        ]);
        for selection in [FileSelection::Links, FileSelection::All] {
            let ignored = scan(&folder, selection, 5).unwrap().ignored;
            assert!(ignored.keys().eq(expected.keys()), "{ignored:?}");
            for (name, reason) in &expected {
                assert!(ignored.get(*name).unwrap().contains(reason), "{ignored:?}");
            }
            expected.insert("large.wasm", "it has more than 5 bytes");
            expected
                .extend(["A.WASM", "two words.wasm"].map(|name| (name, "components are called NAME.wasm")));
        }
    }

    #[test]
    fn signature_file_is_read_as_proof() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.wasm"), b"12345").unwrap();
        let proof = || read_component_file(folder.path(), "a.wasm", 9).map(|(_, proof)| proof);
        assert_eq!(proof().unwrap(), Proof::None);
        fs::write(path("a.wasm.minisig"), b"signed").unwrap();
        assert_eq!(proof().unwrap(), Proof::Signature("signed".into()));
        fs::write(path("a.wasm.minisig"), [b'x'; SIGNATURE_BYTES + 1]).unwrap();
        proof().unwrap_err();
    }

    #[test]
    fn newest_complete_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, age: Duration| {
            let path = folder.path().join(name);
            fs::write(&path, b"x").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        };
        let find_newest =
            |selection| find_newest(folder.path(), selection, |name| name != "unwanted.wasm").unwrap();
        assert_eq!(find_newest(FileSelection::Links), NewestFile::default());
        put("unwanted.wasm", SETTLE_TIME * 2);
        put("old.wasm", SETTLE_TIME * 3);
        put("new.wasm", SETTLE_TIME * 2);
        put("notes.txt", SETTLE_TIME * 2);
        put("two words.wasm", SETTLE_TIME * 2);
        put("being-written.wasm", Duration::ZERO);
        fs::create_dir(folder.path().join("folder.wasm")).unwrap();
        let found = find_newest(FileSelection::Links);
        assert_eq!(found.newest.as_deref(), Some("new.wasm"));
        let ignored: Vec<&str> = found.ignored.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(ignored, ["being-written.wasm", "folder.wasm", "old.wasm", "two words.wasm"]);
        assert_eq!(found.unsettled.unwrap().names, ["being-written.wasm"]);
        let found = find_newest(FileSelection::All);
        assert_eq!((found.newest.as_deref(), found.unsettled), (Some("being-written.wasm"), None));
        // The target of a link is complete.
        symlink("being-written.wasm", folder.path().join("link.wasm")).unwrap();
        assert_eq!(find_newest(FileSelection::Links).newest.as_deref(), Some("link.wasm"));
    }
}
