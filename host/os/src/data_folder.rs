//! The data folder of a host: its format, the upgrade of an older one, and the lock of the hosts that use it.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock, major, minor},
    io::Errno,
};

use crate::files;

/// The format that this version writes. Format 2 differs from format 1 by the file that names the format.
pub const FORMAT: u32 = 2;
/// The format of a folder without that file.
const FIRST_FORMAT: u32 = 1;
/// File that names the format.
const FORMAT_FILE: &str = "format";
/// Largest such file, bytes.
const FORMAT_BYTES: usize = 1 << 10;
/// What such a file has before and after the number. A file that was cut or overwritten in part names no format.
const FORMAT_TEXT: [&str; 2] = ["format ", " of the data folder\n"];
/// File that every host locks that uses the folder.
const LOCK_FILE: &str = "lock";
/// Folder of the copies that upgrades keep.
const COPIES: &str = "copies";

/// What a data folder says of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderFormat {
    /// It is named.
    Named(u32),
    /// It is not named: the folder is new, or has the first format.
    Unnamed,
    /// The file that names it is damaged.
    Damaged,
}

/// What has become of the format of a data folder that was opened.
#[derive(Debug)]
pub enum Opened {
    /// It is that of this version, or the folder was new.
    Current,
    /// It was older and has been upgraded. The copy holds the states as they were.
    Upgraded {
        /// The older format.
        from: u32,
        /// Folder of the copy.
        copy: PathBuf,
    },
    /// The file that names it was damaged and has been written again.
    Restored,
    /// It could not be written. This version uses the folder as it is, and the next start tries again.
    Kept {
        /// Why not.
        reason: io::Error,
    },
}

/// A data folder that a host uses. Dropping it, or the end of the process, releases the lock.
#[derive(Debug)]
pub struct DataFolder {
    /// What has become of its format.
    pub opened: Opened,
    _lock: Option<File>,
}

impl DataFolder {
    /// Opens an existing folder for a host: upgrades an older format, for which it keeps a copy of the folder `states` in it,
    /// and locks it. Other hosts may use the folder too, but not during an upgrade.
    ///
    /// # Errors
    /// When the folder has the format of a newer version, or its format cannot be read.
    pub fn open(folder: &Path, states: &str) -> io::Result<Self> {
        let (found, lock) = (check(folder)?, lock_file(folder));
        let opened = match (found, &lock) {
            (FolderFormat::Named(FORMAT), _) => Opened::Current,
            (_, Ok(lock)) => upgrade(folder, states, lock)?,
            (_, Err(error)) => Opened::Kept { reason: io::Error::new(error.kind(), error.to_string()) },
        };
        let lock = lock.ok();
        // Where the file system has no locks, hosts do without.
        if let Some(lock) = &lock {
            let _ = flock(lock, FlockOperation::LockShared);
        }
        // A newer version may have upgraded it before this one had the lock.
        check(folder)?;
        Ok(Self { opened, _lock: lock })
    }
}

/// Returns the format of a folder, which need not exist.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] when it is that of a newer version; else why it cannot be read.
pub fn check(folder: &Path) -> io::Result<FolderFormat> {
    let path = folder.join(FORMAT_FILE);
    let found = match files::read(&path, FORMAT_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).ok().and_then(|text| parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FolderFormat::Unnamed),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => None,
        Err(error) => {
            return Err(io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())));
        }
    };
    match found {
        Some(format) if format > FORMAT => {
            let folder = folder.display();
            let text = format!(
                "{folder} has format {format}, which a newer version has written; this version takes format {FORMAT} and \
                 older ones: start the newer version, or set data_dir to another folder"
            );
            Err(io::Error::new(io::ErrorKind::Unsupported, text))
        }
        Some(format) => Ok(FolderFormat::Named(format)),
        None => Ok(FolderFormat::Damaged),
    }
}

fn parse(text: &str) -> Option<u32> {
    let [before, after] = FORMAT_TEXT;
    text.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}

fn write_format(folder: &Path) -> io::Result<()> {
    let [before, after] = FORMAT_TEXT;
    files::replace(&folder.join(FORMAT_FILE), &[format!("{before}{FORMAT}{after}").as_bytes()])
}

/// Opens the file that hosts lock. One of an earlier start is enough where the folder cannot be written.
fn lock_file(folder: &Path) -> io::Result<File> {
    let path = folder.join(LOCK_FILE);
    let writable = File::options().create(true).append(true).mode(0o600).open(&path);
    writable.or_else(|error| File::open(&path).map_err(|_| error))
}

/// Has the folder get this version's format, if no other host uses it.
fn upgrade(folder: &Path, states: &str, lock: &File) -> io::Result<Opened> {
    let alone = flock(lock, FlockOperation::NonBlockingLockExclusive);
    if alone.is_err() {
        // Waits for a host that may be upgrading it.
        let _ = flock(lock, FlockOperation::LockShared);
    }
    // Another host may have done it meanwhile.
    let found = check(folder)?;
    if found == FolderFormat::Named(FORMAT) {
        return Ok(Opened::Current);
    }
    if let Err(error) = alone {
        let is_used = error == Errno::WOULDBLOCK;
        let used = || io::Error::new(io::ErrorKind::WouldBlock, "another host uses it");
        return Ok(Opened::Kept { reason: if is_used { used() } else { error.into() } });
    }
    Ok(upgrade_alone(folder, states, found).unwrap_or_else(|reason| Opened::Kept { reason }))
}

fn upgrade_alone(folder: &Path, states: &str, found: FolderFormat) -> io::Result<Opened> {
    let from = match found {
        FolderFormat::Named(format) => format,
        FolderFormat::Unnamed => FIRST_FORMAT,
        FolderFormat::Damaged => {
            write_format(folder)?;
            return Ok(Opened::Restored);
        }
    };
    let copy = keep_copy(folder, states, from)?;
    write_format(folder)?;
    Ok(copy.map_or(Opened::Current, |copy| Opened::Upgraded { from, copy }))
}

/// Copies the states of a folder that has some, in place of an earlier copy of the same format, and returns the folder of the
/// copy.
fn keep_copy(folder: &Path, states: &str, format: u32) -> io::Result<Option<PathBuf>> {
    let (from, copies) = (folder.join(states), folder.join(COPIES));
    if !from.is_dir() {
        return Ok(None);
    }
    let copy = copies.join(format!("format-{format}"));
    let unfinished = copy.with_extension("tmp");
    // Of an attempt that was interrupted.
    let _ = fs::remove_dir_all(&unfinished);
    let copied = copy_folder(&from, &unfinished.join(states)).and_then(|()| {
        // Of an upgrade after which someone has returned to the older version.
        let _ = fs::remove_dir_all(&copy);
        fs::rename(&unfinished, &copy)
    });
    if copied.is_err() {
        let _ = fs::remove_dir_all(&unfinished);
    }
    copied?;
    // A rename is durable once the folder is synchronized.
    [copies.as_path(), folder].into_iter().try_for_each(|folder| File::open(folder)?.sync_all())?;
    Ok(Some(copy))
}

/// Copies plain files and folders.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
            File::open(&target)?.sync_all()?;
        }
    }
    File::open(to)?.sync_all()
}

/// Returns the processes that use a folder as hosts, those that this process may know of.
pub fn users(folder: &Path) -> Vec<u32> {
    let Ok(file) = fs::metadata(folder.join(LOCK_FILE)) else { return Vec::new() };
    let (device, inode) = (file.dev(), file.ino());
    let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut users: Vec<u32> = locks.lines().filter_map(|lock| user(lock, &file)).collect();
    users.sort_unstable();
    users.dedup();
    users
}

/// Returns the process that holds a lock of `file`, given a line of `/proc/locks` as `proc_locks(5)` describes it. Lines
/// of processes that wait have an arrow more.
fn user(lock: &str, file: &str) -> Option<u32> {
    let [_, "FLOCK", _, _, process, locked, ..] = lock.split_whitespace().collect::<Vec<_>>()[..] else {
        return None;
    };
    process.parse().ok().filter(|_| locked == file)
}
