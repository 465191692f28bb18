//! Events of a watched folder from the kernel (inotify), and the resolution of the folder's path.

use std::{
    ffi::CStr,
    fs, io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify::{self, ReadFlags, WatchFlags},
    io::Errno,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::files::is_component_name;

/// Interval at which the thread resolves the folder's path and checks whether the receiver is closed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const WATCH_FLAGS: WatchFlags = WatchFlags::MOVED_TO
    .union(WatchFlags::CREATE)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// What has happened in the folder.
#[derive(Debug, Default)]
pub(super) struct FolderEvents {
    /// Files that were moved in.
    pub(super) moved_in: Vec<String>,
    /// Other names, with the reasons why they are ignored.
    pub(super) ignored: Vec<(String, &'static str)>,
    /// A link was created or replaced, so that files may have changed.
    pub(super) links_changed: bool,
    /// The folder's path leads to another folder, because a link in it was replaced.
    pub(super) retargeted: bool,
    /// The folder was created again.
    pub(super) recreated: bool,
    /// The kernel's event queue has overflowed.
    pub(super) overflowed: bool,
    /// The folder has been removed.
    pub(super) removed: bool,
}

impl FolderEvents {
    const fn is_any(&self) -> bool {
        self.links_changed
            || self.retargeted
            || self.recreated
            || self.overflowed
            || self.removed
            || !self.moved_in.is_empty()
            || !self.ignored.is_empty()
    }

    fn add(&mut self, folder: &Path, events: ReadFlags, name: Option<&CStr>) {
        self.overflowed |= events.contains(ReadFlags::QUEUE_OVERFLOW);
        self.removed |= events.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED);
        let Some(name) = name.map(|name| name.to_string_lossy().into_owned()) else { return };
        let (is_moved, is_folder) = (events.contains(ReadFlags::MOVED_TO), events.contains(ReadFlags::ISDIR));
        let is_link = || fs::symlink_metadata(folder.join(&name)).is_ok_and(|found| found.is_symlink());
        match () {
            () if is_folder => {
                if is_moved && !name.starts_with('.') || is_component_name(&name) {
                    self.ignored.push((name, "it is a folder; move the file itself in"));
                }
            }
            () if (is_moved || events.contains(ReadFlags::CREATE)) && is_link() => self.links_changed = true,
            () if is_moved => self.moved_in.push(name),
            () if events.contains(ReadFlags::CREATE) && is_component_name(&name) => {
                if let Ok(found) = fs::symlink_metadata(folder.join(&name)) {
                    match found.is_file() {
                        true if found.nlink() < 2 => {}
                        true => self.ignored.push((name, "it is a hard link; move the file itself in")),
                        false => self.ignored.push((name, "it is a pipe or a device; move a file in")),
                    }
                }
            }
            () if events.contains(ReadFlags::CLOSE_WRITE) && is_component_name(&name) => {
                self.ignored.push((
                    name,
                    "it was written in place and may be incomplete; write it outside the folder and move it in",
                ));
            }
            () => {}
        }
    }
}

/// The identity of the folder that a path leads to.
#[derive(Debug, PartialEq, Eq)]
struct FolderIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FolderIdentity {
    fn of(folder: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(folder)?;
        let found = fs::metadata(&path)?;
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }
}

/// A folder that the kernel watches.
struct WatchedFolder {
    events: OwnedFd,
    identity: FolderIdentity,
}

impl WatchedFolder {
    fn open(folder: &Path) -> io::Result<Self> {
        let identity = FolderIdentity::of(folder)?;
        let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
        inotify::add_watch(&events, &identity.path, WATCH_FLAGS)?;
        Ok(Self { events, identity })
    }

    /// Returns the events since the last call; waits for them at most [`CHECK_INTERVAL`].
    fn wait(&self) -> io::Result<FolderEvents> {
        let patience = Timespec::try_from(CHECK_INTERVAL).map_err(io::Error::other)?;
        let mut events = FolderEvents::default();
        match poll(&mut [PollFd::new(&self.events, PollFlags::IN)], Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => return Ok(events),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => events.add(&self.identity.path, event.events(), event.file_name()),
                Err(Errno::WOULDBLOCK) => return Ok(events),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Tracks a folder through the links in its path.
struct FolderTracker {
    folder: PathBuf,
    watched: Option<WatchedFolder>,
    /// The last folder that the path led to.
    last: Option<PathBuf>,
}

impl FolderTracker {
    fn step(&mut self) -> io::Result<FolderEvents> {
        let mut events = match &self.watched {
            Some(watched) => watched.wait()?,
            None => {
                thread::sleep(CHECK_INTERVAL);
                FolderEvents::default()
            }
        };
        let now = FolderIdentity::of(&self.folder);
        match (&self.watched, now) {
            (Some(watched), Ok(now)) if watched.identity == now && !events.removed => {}
            (_, Ok(_)) => match WatchedFolder::open(&self.folder) {
                Ok(next) => {
                    events.retargeted = self.last.as_ref().is_some_and(|last| *last != next.identity.path);
                    (events.recreated, events.removed) = (!events.retargeted, false);
                    self.last = Some(next.identity.path.clone());
                    self.watched = Some(next);
                }
                Err(_) => events.removed = self.watched.take().is_some(),
            },
            (Some(_), Err(_)) if events.removed => self.watched = None,
            // A link may be removed before its replacement is created.
            (_, Err(_)) => events.removed = false,
        }
        Ok(events)
    }
}

/// Sends the folder's events from a thread of its own until the receiver is closed. A missing folder is looked for.
pub(super) fn listen(folder: &Path) -> io::Result<UnboundedReceiver<io::Result<FolderEvents>>> {
    let (sender, receiver) = unbounded_channel();
    let watched = WatchedFolder::open(folder);
    if watched.is_err() {
        // The receiver is still open.
        let _ = sender.send(Ok(FolderEvents { removed: true, ..FolderEvents::default() }));
    }
    let watched = watched.ok();
    let last = watched.as_ref().map(|watched| watched.identity.path.clone());
    let mut tracker = FolderTracker { folder: folder.to_owned(), watched, last };
    let wait = move || {
        while !sender.is_closed() {
            let events = tracker.step();
            let is_last = events.is_err();
            if events.as_ref().map_or(true, FolderEvents::is_any) && sender.send(events).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("folder".to_owned()).spawn(wait)?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use tempfile::tempdir;
    use tokio::time::timeout;

    use super::*;

    async fn next(receiver: &mut UnboundedReceiver<io::Result<FolderEvents>>) -> FolderEvents {
        timeout(Duration::from_secs(60), receiver.recv()).await.unwrap().unwrap().unwrap()
    }

    #[tokio::test]
    async fn only_moved_files_are_reported() {
        let (elsewhere, folder) = (tempdir().unwrap(), tempdir().unwrap());
        let mut receiver = listen(folder.path()).unwrap();
        fs::write(folder.path().join("written.wasm"), b"x").unwrap();
        fs::write(folder.path().join("written.tmp"), b"x").unwrap();
        fs::write(folder.path().join("WRITTEN.WASM"), b"x").unwrap();
        fs::hard_link(folder.path().join("written.tmp"), folder.path().join("linked.wasm")).unwrap();
        fs::create_dir(elsewhere.path().join("folder.wasm")).unwrap();
        for name in ["one.wasm", "two.wasm"] {
            fs::write(elsewhere.path().join(name), b"x").unwrap();
        }
        for name in ["folder.wasm", "one.wasm", "two.wasm"] {
            fs::rename(elsewhere.path().join(name), folder.path().join(name)).unwrap();
        }
        let (mut seen, mut ignored) = (Vec::new(), Vec::new());
        while seen.len() < 2 {
            let events = next(&mut receiver).await;
            seen.extend(events.moved_in);
            ignored.extend(events.ignored.into_iter().map(|(name, _)| name));
        }
        assert_eq!(seen, ["one.wasm", "two.wasm"]);
        assert_eq!(ignored, ["written.wasm", "WRITTEN.WASM", "linked.wasm", "folder.wasm"]);
    }

    #[tokio::test]
    async fn replaced_folder_link_is_tracked() {
        let root = tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for name in ["one", "two"] {
            fs::create_dir(path(name)).unwrap();
        }
        symlink("one", path("current")).unwrap();
        let mut receiver = listen(&path("current")).unwrap();
        // As git-sync does: a new link is created, renamed over the old one, and the old folder is removed.
        symlink("two", path("next")).unwrap();
        fs::rename(path("next"), path("current")).unwrap();
        fs::remove_dir(path("one")).unwrap();
        assert!(next(&mut receiver).await.retargeted);
        fs::write(path("x"), b"x").unwrap();
        fs::rename(path("x"), path("two/x.wasm")).unwrap();
        assert_eq!(next(&mut receiver).await.moved_in, ["x.wasm"]);
        fs::remove_dir_all(path("two")).unwrap();
        assert!(next(&mut receiver).await.removed);
        fs::create_dir(path("two")).unwrap();
        assert!(next(&mut receiver).await.recreated);
    }

    #[tokio::test]
    async fn replaced_link_in_folder_is_reported() {
        let folder = tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        symlink("none", path("..data")).unwrap();
        let mut receiver = listen(folder.path()).unwrap();
        symlink("other", path("..data_tmp")).unwrap();
        assert!(next(&mut receiver).await.links_changed);
        fs::rename(path("..data_tmp"), path("..data")).unwrap();
        assert!(next(&mut receiver).await.links_changed);
    }
}
