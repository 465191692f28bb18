//! A folder whose new files become candidates.
//!
//! Only what is moved into the folder is taken (`mv`, or a program's rename): such a file is whole, while one that is
//! written there may be half of one at any moment. The kernel tells the two apart, so nothing is guessed;
//! file systems that do not report renames (network mounts written to by others) cannot be watched.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, inotify},
    io::Errno,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{Change, Deployment, Expected, HOST, Proof, VersionId};
use crate::{
    background,
    compile::ComponentDigest,
    config::{slots::Slot, watch::Watch},
    slots::{Weight, World},
};

/// Longest name of a file that is taken, bytes.
const NAME_BYTES: usize = 100;
/// Largest `.minisig` file, bytes; they have some 300.
const SIGNATURE_BYTES: usize = 4096;
/// Files that lie in the folder at the start are taken to be whole when nobody has written to them for so long.
const SETTLED: Duration = Duration::from_secs(60);
/// The thread looks up so often to see whether anybody listens still.
const LOOK_UP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Why a folder's file is tried.
const REASON: &str = "moved into the watched folder";

/// Whether a file of this name is a component: letters, digits, `.`, `_` and `-`, the first a letter or digit, `.wasm`
/// at the end.
fn fits(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.len() <= NAME_BYTES
        && name.strip_suffix(".wasm").is_some_and(|stem| !stem.is_empty())
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(known)
}

/// A file's bytes, at most `cap`; none where there is no such file. Never what a link leads to, and no pipe.
fn read(path: &Path, cap: usize) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
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
fn component(path: &Path, cap: usize) -> io::Result<(Arc<[u8]>, Proof)> {
    let wasm = read(path, cap)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".minisig");
    let proof = match read(Path::new(&beside), SIGNATURE_BYTES)? {
        Some(text) => Proof::Signature(String::from_utf8(text).map_err(io::Error::other)?),
        None => Proof::None,
    };
    Ok((wasm.into(), proof))
}

/// The component that was put there last, of those that nobody has written to for a while.
fn settled(folder: &Path) -> io::Result<Option<String>> {
    let mut newest: Option<(SystemTime, String)> = None;
    for file in fs::read_dir(folder)?.flatten() {
        let name = file.file_name().into_string().ok().filter(|name| fits(name));
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let (Some(name), Ok(modified)) = (name, modified) else { continue };
        let is_settled = modified.elapsed().is_ok_and(|age| age >= SETTLED);
        if is_settled && newest.as_ref().is_none_or(|(known, _)| modified > *known) {
            newest = Some((modified, name));
        }
    }
    Ok(newest.map(|(_, name)| name))
}

/// What happened in the folder.
#[derive(Debug, Default)]
struct News {
    moved_in: Vec<String>,
    /// More happened than the kernel could tell.
    lost: bool,
    /// The folder is there no more.
    gone: bool,
}

impl News {
    const fn is_some(&self) -> bool {
        self.lost || self.gone || !self.moved_in.is_empty()
    }
    fn add(&mut self, events: inotify::ReadFlags, name: Option<&std::ffi::CStr>) {
        use inotify::ReadFlags as Flags;
        self.lost |= events.contains(Flags::QUEUE_OVERFLOW);
        self.gone |= events.intersects(Flags::DELETE_SELF | Flags::MOVE_SELF | Flags::IGNORED);
        if events.contains(Flags::MOVED_TO) && !events.contains(Flags::ISDIR) {
            self.moved_in.extend(name.map(|name| name.to_string_lossy().into_owned()));
        }
    }
}

/// Has the kernel tell of what is moved into `folder`.
fn inotify(folder: &Path) -> io::Result<OwnedFd> {
    let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
    let wanted = inotify::WatchFlags::MOVED_TO
        | inotify::WatchFlags::DELETE_SELF
        | inotify::WatchFlags::MOVE_SELF
        | inotify::WatchFlags::ONLYDIR;
    inotify::add_watch(&events, folder, wanted)?;
    Ok(events)
}

/// What has happened since the last time.
fn news(events: &OwnedFd) -> io::Result<News> {
    let (mut news, mut buffer) = (News::default(), [MaybeUninit::uninit(); 4096]);
    let mut reader = inotify::Reader::new(events, &mut buffer);
    loop {
        match reader.next() {
            Ok(event) => news.add(event.events(), event.file_name()),
            Err(Errno::WOULDBLOCK) => return Ok(news),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Tells of the folder, on a thread of its own, until nobody listens.
fn listen(folder: &Path) -> io::Result<UnboundedReceiver<io::Result<News>>> {
    let events = inotify(folder)?;
    let (tell, told) = unbounded_channel();
    let wait = move || {
        while !tell.is_closed() {
            match poll(&mut [PollFd::new(&events, PollFlags::IN)], Some(&LOOK_UP)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return drop(tell.send(Err(error.into()))),
            }
            let news = news(&events);
            let is_last = news.as_ref().map_or(true, |news| news.gone);
            if news.as_ref().map_or(true, News::is_some) && tell.send(news).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("folder".to_owned()).spawn(wait)?;
    Ok(told)
}

/// Where a slot's new components are looked for, and what becomes of them.
fn watch(settings: &Slot) -> Watch {
    settings.watch.clone()
}

impl<W: World> Deployment<W> {
    /// Takes what is moved into the slot's folder, where it has one, for as long as the deployment lives.
    pub(super) fn watch_folder(&self) {
        let slot = self.slot.name().as_str();
        let Some(folder) = watch(&self.slot.settings()).folder else { return };
        let mut told = match listen(&folder) {
            Ok(told) => told,
            Err(error) => {
                tracing::error!(slot, folder = %folder.display(), %error, "the folder is not watched; make it and restart");
                return;
            }
        };
        let deployment = self.weak();
        self.spawn(async move {
            // What came while the host was down.
            if let (Ok(Some(name)), Some(deployment)) = (settled(&folder), deployment.upgrade()) {
                deployment.take_file(&folder, &name, true).await;
            }
            while let Some(news) = told.recv().await {
                let Some(deployment) = deployment.upgrade() else { return };
                let news = match news {
                    Ok(news) => news,
                    Err(error) => {
                        tracing::error!(slot, %error, "the folder is watched no more; restart to watch it again");
                        return;
                    }
                };
                for name in &news.moved_in {
                    deployment.take_file(&folder, name, false).await;
                }
                if news.lost {
                    tracing::warn!(slot, "too much was moved into the folder at once; move in again what was not taken");
                }
                if news.gone {
                    tracing::error!(slot, "the watched folder is gone; make it again and restart");
                    return;
                }
            }
        });
    }

    /// Makes a file a candidate, or says in the log why not. With `unknown` only if its component is not known yet.
    async fn take_file(&self, folder: &Path, name: &str, unknown: bool) {
        let (slot, path) = (self.slot.name().as_str(), folder.join(name));
        if Path::new(name).extension() == Some(OsStr::new("minisig")) {
            return;
        }
        if !fits(name) {
            tracing::warn!(
                slot,
                name,
                "not taken from the folder: components are called NAME.wasm, of letters, digits, `.`, `_` and `-`"
            );
            return;
        }
        match self.try_file(path, unknown).await {
            Ok(Some(version)) => {
                tracing::info!(slot, name, version = version.as_str(), "the folder's file is a candidate");
            }
            Ok(None) => {}
            Err(reason) => tracing::warn!(slot, name, reason, "the folder's file is not a candidate"),
        }
    }

    async fn try_file(&self, path: PathBuf, unknown: bool) -> Result<Option<VersionId>, String> {
        let (cap, file) = (self.slot.yard.sandbox.component_bytes, path.clone());
        let read = background::run(move || component(&file, cap));
        let (wasm, proof) =
            read.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let component = ComponentDigest::of(&wasm).to_string();
        let is_known = self.book().versions.iter().any(|record| record.component == component);
        if unknown && is_known {
            return Ok(None);
        }
        let source = path.display().to_string();
        let taken = self.take_up(wasm, &source, proof, HOST, &|_| {}).await;
        let taken = taken.map_err(|error| error.to_string())?.record;
        let weight = Weight::new(watch(&self.slot.settings()).weight).unwrap_or_default();
        let change = Change::Canary(Some(taken.id.to_string()), weight);
        let expected = Expected {
            generation: self.book().generation,
            actor: HOST.to_owned(),
            reason: REASON.to_owned(),
        };
        self.apply(&change, &expected).await.map_err(|error| error.to_string())?;
        self.slot.metrics.rollout(change.as_str());
        Ok(Some(taken.id))
    }
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
    fn only_plain_files_of_some_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.wasm"), b"12345").unwrap();
        assert_eq!(read(&path("a.wasm"), 5).unwrap().unwrap(), b"12345");
        read(&path("a.wasm"), 4).unwrap_err();
        assert!(read(&path("none.wasm"), 5).unwrap().is_none());
        symlink(path("a.wasm"), path("link.wasm")).unwrap();
        read(&path("link.wasm"), 5).unwrap_err();
        fs::create_dir(path("folder.wasm")).unwrap();
        read(&path("folder.wasm"), 5).unwrap_err();
    }

    #[test]
    fn a_signature_lies_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(component(&path, 9).unwrap().1, Proof::None);
        fs::write(folder.path().join("a.wasm.minisig"), b"signed").unwrap();
        assert_eq!(component(&path, 9).unwrap().1, Proof::Signature("signed".into()));
        fs::write(folder.path().join("a.wasm.minisig"), [b'x'; SIGNATURE_BYTES + 1]).unwrap();
        component(&path, 9).unwrap_err();
    }

    #[test]
    fn at_the_start_the_newest_that_has_settled_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, age: Duration| {
            let path = folder.path().join(name);
            fs::write(&path, b"x").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        };
        assert_eq!(settled(folder.path()).unwrap(), None);
        put("old.wasm", SETTLED * 3);
        put("new.wasm", SETTLED * 2);
        put("notes.txt", SETTLED * 2);
        put("being-written.wasm", Duration::ZERO);
        assert_eq!(settled(folder.path()).unwrap().as_deref(), Some("new.wasm"));
    }

    #[tokio::test]
    async fn what_is_moved_in_is_news_and_what_is_written_is_not() {
        let (elsewhere, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut told = listen(folder.path()).unwrap();
        fs::write(folder.path().join("written.wasm"), b"x").unwrap();
        fs::create_dir(elsewhere.path().join("folder.wasm")).unwrap();
        for name in ["one.wasm", "two.wasm"] {
            fs::write(elsewhere.path().join(name), b"x").unwrap();
        }
        for name in ["folder.wasm", "one.wasm", "two.wasm"] {
            fs::rename(elsewhere.path().join(name), folder.path().join(name)).unwrap();
        }
        let mut seen = Vec::new();
        while seen.len() < 2 {
            seen.extend(told.recv().await.unwrap().unwrap().moved_in);
        }
        assert_eq!(seen, ["one.wasm", "two.wasm"]);
        drop(folder);
        assert!(told.recv().await.unwrap().unwrap().gone);
        assert!(told.recv().await.is_none());
    }
}
