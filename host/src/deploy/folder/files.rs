//! Components in a watched folder: their names, their bytes, and which of them are whole.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{self, Path},
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;

use crate::{compile::ComponentDigest, deploy::Proof};

/// Longest name of a file that is taken, bytes.
const NAME_BYTES: usize = 100;
/// Largest `.minisig` file, bytes; they have some 300.
const SIGNATURE_BYTES: usize = 4096;
/// Files that lie in the folder at the start are taken to be whole when nobody has written to them for so long.
const SETTLED: Duration = Duration::from_secs(60);

/// Whether a file of this name is a component: letters, digits, `.`, `_` and `-`, the first a letter or digit, `.wasm`
/// at the end.
pub(super) fn fits(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.len() <= NAME_BYTES
        && name.strip_suffix(".wasm").is_some_and(|stem| !stem.is_empty())
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(known)
}

/// A file's bytes, at most `cap`; none where there is no such file. A link is followed within the folder, as volumes of
/// Kubernetes and working trees have them, and no further. No pipe is opened.
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
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) => return absent(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    file.take((cap as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > cap {
        return Err(io::Error::other(format!("it has more than {cap} bytes")));
    }
    Ok(Some(bytes))
}

/// A component and what lies beside it to vouch for it.
pub(super) fn component(folder: &Path, name: &str, cap: usize) -> io::Result<(Arc<[u8]>, Proof)> {
    let wasm = read(folder, name, cap)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let proof = match read(folder, &format!("{name}.minisig"), SIGNATURE_BYTES)? {
        Some(text) => Proof::Signature(String::from_utf8(text).map_err(io::Error::other)?),
        None => Proof::None,
    };
    Ok((wasm.into(), proof))
}

/// Whether a link leads to the folder, so that it may be replaced as a whole.
pub(super) fn is_linked(folder: &Path) -> bool {
    fs::canonicalize(folder).ok() != path::absolute(folder).ok()
}

/// Which components of a folder are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// All: the folder itself has been put in place as a whole.
    All,
    /// Those that are links: what a link leads to is whole, for a link is replaced in one stroke.
    Links,
}

/// The components of a folder by their names; what cannot be read is left out.
pub(super) fn look(folder: &Path, which: Which, cap: usize) -> io::Result<BTreeMap<String, ComponentDigest>> {
    let mut seen = BTreeMap::new();
    for file in fs::read_dir(folder)?.flatten() {
        let is_link = file.file_type().is_ok_and(|kind| kind.is_symlink());
        let name = file.file_name().into_string().ok().filter(|name| fits(name));
        if let Some(name) = name.filter(|_| is_link || which == Which::All)
            && let Ok(Some(wasm)) = read(folder, &name, cap)
        {
            seen.insert(name, ComponentDigest::of(&wasm));
        }
    }
    Ok(seen)
}

/// What lies in a folder at the start: the component that is taken, and what is ignored, with the reasons.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) newest: Option<String>,
    pub(super) ignored: Vec<(String, &'static str)>,
}

/// Looks for the component that was put into the folder last, of the links and of the files that nobody has written to
/// for a while.
pub(super) fn settled(folder: &Path) -> io::Result<Found> {
    let (mut newest, mut found) = (None::<(SystemTime, String)>, Found::default());
    for file in fs::read_dir(folder)?.flatten() {
        let Ok(name) = file.file_name().into_string() else { continue };
        if !name.ends_with(".wasm") {
            continue;
        }
        let is_link = file.file_type().is_ok_and(|kind| kind.is_symlink());
        let modified = fs::metadata(file.path()).and_then(|found| found.modified());
        let is_whole = |at: &SystemTime| is_link || at.elapsed().is_ok_and(|age| age >= SETTLED);
        let ignored = match (fits(&name), modified) {
            (false, _) => (name, "its name is none of a component"),
            (true, Err(_)) => (name, "it cannot be read"),
            (true, Ok(at)) if !is_whole(&at) => {
                (name, "it was written a moment ago and may be half of a file; move it in again")
            }
            (true, Ok(at)) => match &newest {
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

    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["a.wasm", "captcha-2.1_rc.wasm", "9.wasm"] {
            assert!(fits(good), "{good}");
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
            assert!(!fits(bad), "{bad:?}");
        }
    }

    #[test]
    fn only_plain_files_of_the_folder_are_read() {
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
        assert_eq!(
            look(&folder, Which::All, 5).unwrap().into_keys().collect::<Vec<_>>(),
            ["a.wasm", "b.wasm"]
        );
        assert_eq!(look(&folder, Which::Links, 5).unwrap().into_keys().collect::<Vec<_>>(), ["b.wasm"]);
    }

    #[test]
    fn a_signature_lies_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.wasm"), b"12345").unwrap();
        let proof = || component(folder.path(), "a.wasm", 9).map(|(_, proof)| proof);
        assert_eq!(proof().unwrap(), Proof::None);
        fs::write(path("a.wasm.minisig"), b"signed").unwrap();
        assert_eq!(proof().unwrap(), Proof::Signature("signed".into()));
        fs::write(path("a.wasm.minisig"), [b'x'; SIGNATURE_BYTES + 1]).unwrap();
        proof().unwrap_err();
    }

    #[test]
    fn at_the_start_the_newest_whole_file_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, age: Duration| {
            let path = folder.path().join(name);
            fs::write(&path, b"x").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        };
        assert_eq!(settled(folder.path()).unwrap(), Found::default());
        put("old.wasm", SETTLED * 3);
        put("new.wasm", SETTLED * 2);
        put("notes.txt", SETTLED * 2);
        put("two words.wasm", SETTLED * 2);
        put("being-written.wasm", Duration::ZERO);
        let found = settled(folder.path()).unwrap();
        assert_eq!(found.newest.as_deref(), Some("new.wasm"));
        let ignored: Vec<&str> = found.ignored.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(ignored, ["being-written.wasm", "old.wasm", "two words.wasm"]);
        // What a link leads to is whole.
        symlink("being-written.wasm", folder.path().join("link.wasm")).unwrap();
        assert_eq!(settled(folder.path()).unwrap().newest.as_deref(), Some("link.wasm"));
    }
}
