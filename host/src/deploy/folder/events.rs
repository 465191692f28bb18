//! What the kernel says of a watched folder, and where the folder's path leads.

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

use super::files::is_meant;

/// How often the thread looks where the folder's path leads, and whether anybody listens still.
const LOOK_UP: Duration = Duration::from_secs(1);
const WANTED: WatchFlags = WatchFlags::MOVED_TO
    .union(WatchFlags::CREATE)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// What happened in the folder.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Files that were moved in.
    pub(super) moved_in: Vec<String>,
    /// What was not, and why it is ignored.
    pub(super) ignored: Vec<(String, &'static str)>,
    /// A link was made or replaced, so that files may lead elsewhere.
    pub(super) links: bool,
    /// The folder's path leads to another folder: a link in it was replaced.
    pub(super) elsewhere: bool,
    /// The folder was made again.
    pub(super) again: bool,
    /// More happened than the kernel could tell.
    pub(super) lost: bool,
    /// The folder is there no more.
    pub(super) gone: bool,
}

impl News {
    const fn is_some(&self) -> bool {
        self.links
            || self.elsewhere
            || self.again
            || self.lost
            || self.gone
            || !self.moved_in.is_empty()
            || !self.ignored.is_empty()
    }

    fn add(&mut self, folder: &Path, events: ReadFlags, name: Option<&CStr>) {
        self.lost |= events.contains(ReadFlags::QUEUE_OVERFLOW);
        self.gone |= events.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED);
        let Some(name) = name.map(|name| name.to_string_lossy().into_owned()) else { return };
        let (is_moved, is_folder) = (events.contains(ReadFlags::MOVED_TO), events.contains(ReadFlags::ISDIR));
        let is_link = || fs::symlink_metadata(folder.join(&name)).is_ok_and(|found| found.is_symlink());
        match () {
            () if is_folder => {
                if is_moved && !name.starts_with('.') || is_meant(&name) {
                    self.ignored.push((name, "it is a folder; move the file itself in"));
                }
            }
            () if (is_moved || events.contains(ReadFlags::CREATE)) && is_link() => self.links = true,
            () if is_moved => self.moved_in.push(name),
            () if events.contains(ReadFlags::CREATE) && is_meant(&name) => {
                if let Ok(found) = fs::symlink_metadata(folder.join(&name)) {
                    match found.is_file() {
                        true if found.nlink() < 2 => {}
                        true => self.ignored.push((name, "it is a hard link; move the file itself in")),
                        false => self.ignored.push((name, "it is a pipe or a device; move a file in")),
                    }
                }
            }
            () if events.contains(ReadFlags::CLOSE_WRITE) && is_meant(&name) => {
                self.ignored.push((
                    name,
                    "it was written in place and may be half of a file; write it beside the folder and move it in",
                ));
            }
            () => {}
        }
    }
}

/// The folder that a path leads to.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Place {
    fn of(folder: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(folder)?;
        let found = fs::metadata(&path)?;
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }
}

/// A folder that the kernel watches.
struct Watched {
    events: OwnedFd,
    place: Place,
}

impl Watched {
    fn open(folder: &Path) -> io::Result<Self> {
        let place = Place::of(folder)?;
        let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
        inotify::add_watch(&events, &place.path, WANTED)?;
        Ok(Self { events, place })
    }

    /// What has happened since the last time; waits for it for [`LOOK_UP`] at most.
    fn wait(&self) -> io::Result<News> {
        let patience = Timespec::try_from(LOOK_UP).map_err(io::Error::other)?;
        let mut news = News::default();
        match poll(&mut [PollFd::new(&self.events, PollFlags::IN)], Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => return Ok(news),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => news.add(&self.place.path, event.events(), event.file_name()),
                Err(Errno::WOULDBLOCK) => return Ok(news),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Follows a folder through the links in its path.
struct Follower {
    folder: PathBuf,
    watched: Option<Watched>,
    /// Where the path led last.
    last: Option<PathBuf>,
}

impl Follower {
    fn step(&mut self) -> io::Result<News> {
        let mut news = match &self.watched {
            Some(watched) => watched.wait()?,
            None => {
                thread::sleep(LOOK_UP);
                News::default()
            }
        };
        let now = Place::of(&self.folder);
        match (&self.watched, now) {
            (Some(watched), Ok(now)) if watched.place == now && !news.gone => {}
            (_, Ok(_)) => match Watched::open(&self.folder) {
                Ok(next) => {
                    news.elsewhere = self.last.as_ref().is_some_and(|last| *last != next.place.path);
                    (news.again, news.gone) = (!news.elsewhere, false);
                    self.last = Some(next.place.path.clone());
                    self.watched = Some(next);
                }
                Err(_) => news.gone = self.watched.take().is_some(),
            },
            (Some(_), Err(_)) if news.gone => self.watched = None,
            // A link that is removed before the next one is made.
            (_, Err(_)) => news.gone = false,
        }
        Ok(news)
    }
}

/// Tells of the folder, on a thread of its own, until nobody listens. A folder that is not there is looked for.
pub(super) fn listen(folder: &Path) -> io::Result<UnboundedReceiver<io::Result<News>>> {
    let (tell, told) = unbounded_channel();
    let watched = Watched::open(folder);
    if watched.is_err() {
        // The receiver is here still.
        let _ = tell.send(Ok(News { gone: true, ..News::default() }));
    }
    let watched = watched.ok();
    let last = watched.as_ref().map(|watched| watched.place.path.clone());
    let mut follower = Follower { folder: folder.to_owned(), watched, last };
    let wait = move || {
        while !tell.is_closed() {
            let news = follower.step();
            let is_last = news.is_err();
            if news.as_ref().map_or(true, News::is_some) && tell.send(news).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("folder".to_owned()).spawn(wait)?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use tempfile::tempdir;
    use tokio::time::timeout;

    use super::*;

    async fn next(told: &mut UnboundedReceiver<io::Result<News>>) -> News {
        timeout(Duration::from_secs(60), told.recv()).await.unwrap().unwrap().unwrap()
    }

    #[tokio::test]
    async fn moved_files_are_news_and_written_ones_ignored() {
        let (elsewhere, folder) = (tempdir().unwrap(), tempdir().unwrap());
        let mut told = listen(folder.path()).unwrap();
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
            let news = next(&mut told).await;
            seen.extend(news.moved_in);
            ignored.extend(news.ignored.into_iter().map(|(name, _)| name));
        }
        assert_eq!(seen, ["one.wasm", "two.wasm"]);
        assert_eq!(ignored, ["written.wasm", "WRITTEN.WASM", "linked.wasm", "folder.wasm"]);
    }

    #[tokio::test]
    async fn a_folder_is_followed_where_it_goes() {
        let root = tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for name in ["one", "two"] {
            fs::create_dir(path(name)).unwrap();
        }
        symlink("one", path("current")).unwrap();
        let mut told = listen(&path("current")).unwrap();
        // As git-sync does: the next link is made beside, renamed over the last one, whose folder goes.
        symlink("two", path("next")).unwrap();
        fs::rename(path("next"), path("current")).unwrap();
        fs::remove_dir(path("one")).unwrap();
        assert!(next(&mut told).await.elsewhere);
        fs::write(path("x"), b"x").unwrap();
        fs::rename(path("x"), path("two/x.wasm")).unwrap();
        assert_eq!(next(&mut told).await.moved_in, ["x.wasm"]);
        fs::remove_dir_all(path("two")).unwrap();
        assert!(next(&mut told).await.gone);
        fs::create_dir(path("two")).unwrap();
        assert!(next(&mut told).await.again);
    }

    #[tokio::test]
    async fn a_replaced_link_in_the_folder_is_news() {
        let folder = tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        symlink("none", path("..data")).unwrap();
        let mut told = listen(folder.path()).unwrap();
        symlink("other", path("..data_tmp")).unwrap();
        assert!(next(&mut told).await.links);
        fs::rename(path("..data_tmp"), path("..data")).unwrap();
        assert!(next(&mut told).await.links);
    }
}
