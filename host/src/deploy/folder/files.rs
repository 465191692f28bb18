//! Components in a watched folder: their names, their bytes, and which of them are whole.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{self, Path},
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;

use super::NAMES;
use crate::{compile::ComponentDigest, deploy::Proof, files};

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

/// Whether a file of this name is meant to be a component, whether its name fits or not.
pub(super) fn is_meant(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("wasm"))
}

/// A file's bytes, at most `cap`; none where there is no such file. A link is followed within the folder, as volumes of
/// Kubernetes and working trees have them, and no further.
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

/// The components of a folder by their names, and what is ignored, with the reasons.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub(super) seen: BTreeMap<String, ComponentDigest>,
    pub(super) ignored: BTreeMap<String, String>,
}

/// Reads the components of a folder.
pub(super) fn look(folder: &Path, which: Which, cap: usize) -> io::Result<Looked> {
    let mut looked = Looked::default();
    for file in fs::read_dir(folder)?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let is_link = file.file_type().is_ok_and(|kind| kind.is_symlink());
        let is_other = name.starts_with('.') && !is_meant(&name) || name.ends_with(".minisig");
        // A link is put there to be taken, whatever it is called; a tree may hold much else.
        if is_other || !(is_link || which == Which::All && is_meant(&name)) {
            continue;
        }
        let reason = match fits(&name).then(|| read(folder, &name, cap)) {
            Some(Ok(Some(wasm))) => {
                looked.seen.insert(name, ComponentDigest::of(&wasm));
                continue;
            }
            Some(Ok(None)) if is_link => "it is a link that leads nowhere; have it lead to a file".to_owned(),
            Some(Ok(None)) => continue,
            Some(Err(error)) => error.to_string(),
            None => NAMES.to_owned(),
        };
        looked.ignored.insert(name, reason);
    }
    Ok(looked)
}

/// What lies in a folder at the start: the component that is taken, and what is ignored, with the reasons.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) newest: Option<String>,
    pub(super) ignored: Vec<(String, &'static str)>,
    pub(super) unsettled: Option<Unsettled>,
}

/// Files that were written a moment ago.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) names: Vec<String>,
    /// Time until the first of them counts as whole, if nobody writes to it.
    pub(super) wait: Duration,
}

impl Found {
    fn wait_for(&mut self, name: &str, wait: Duration) {
        let unsettled = self.unsettled.get_or_insert(Unsettled { names: Vec::new(), wait });
        unsettled.names.push(name.to_owned());
        unsettled.wait = unsettled.wait.min(wait);
    }
}

/// Looks for the component that was put into the folder last, of those that are `wanted` by their names: of the files
/// that are whole as `which` says, and those that nobody has written to for a while.
pub(super) fn settled(folder: &Path, which: Which, wanted: impl Fn(&str) -> bool) -> io::Result<Found> {
    let (mut newest, mut found) = (None::<(SystemTime, String)>, Found::default());
    for file in fs::read_dir(folder)?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if !is_meant(&name) || !wanted(&name) {
            continue;
        }
        let is_link = file.file_type().is_ok_and(|kind| kind.is_symlink());
        let modified = fs::metadata(file.path()).ok().filter(fs::Metadata::is_file);
        let modified = modified.and_then(|found| found.modified().ok());
        // A time to come is that of a clock that was wrong.
        let age = |at: &SystemTime| at.elapsed().unwrap_or_default();
        let is_whole = |at: &SystemTime| which == Which::All || is_link || age(at) >= SETTLED;
        let ignored = match (fits(&name), modified) {
            (false, _) => (name, NAMES),
            (true, None) => (name, "it is not a file that can be read; move a file in"),
            (true, Some(at)) if !is_whole(&at) => {
                found.wait_for(&name, SETTLED.saturating_sub(age(&at)));
                (
                    name,
                    "it was written a moment ago and may be half of a file; it is looked at again once nobody has \
                     written to it for a minute",
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
        let seen = |which| look(&folder, which, 5).unwrap().seen.into_keys().collect::<Vec<_>>();
        assert_eq!(seen(Which::All), ["a.wasm", "b.wasm"]);
        assert_eq!(seen(Which::Links), ["b.wasm"]);
    }

    #[test]
    fn what_is_ignored_has_a_reason() {
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
        for which in [Which::Links, Which::All] {
            let ignored = look(&folder, which, 5).unwrap().ignored;
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
        let settled = |which| settled(folder.path(), which, |name| name != "unwanted.wasm").unwrap();
        assert_eq!(settled(Which::Links), Found::default());
        put("unwanted.wasm", SETTLED * 2);
        put("old.wasm", SETTLED * 3);
        put("new.wasm", SETTLED * 2);
        put("notes.txt", SETTLED * 2);
        put("two words.wasm", SETTLED * 2);
        put("being-written.wasm", Duration::ZERO);
        fs::create_dir(folder.path().join("folder.wasm")).unwrap();
        let found = settled(Which::Links);
        assert_eq!(found.newest.as_deref(), Some("new.wasm"));
        let ignored: Vec<&str> = found.ignored.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(ignored, ["being-written.wasm", "folder.wasm", "old.wasm", "two words.wasm"]);
        assert_eq!(found.unsettled.unwrap().names, ["being-written.wasm"]);
        let found = settled(Which::All);
        assert_eq!((found.newest.as_deref(), found.unsettled), (Some("being-written.wasm"), None));
        // What a link leads to is whole.
        symlink("being-written.wasm", folder.path().join("link.wasm")).unwrap();
        assert_eq!(settled(Which::Links).newest.as_deref(), Some("link.wasm"));
    }
}
