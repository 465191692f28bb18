//! The data folder of a run.

use std::{
    env,
    fs::{self, File, TryLockError},
    io::ErrorKind,
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use rustix::io::{FdFlags, fcntl_setfd};

/// Most runs of a user at the same time.
const MOST: u32 = 100;
/// Folder of the slots' states, in the data folder: none of an earlier run counts.
const SLOTS: &str = "slots";

/// A folder that no other run uses as long as its lock is held: by this process, or by that which takes its place.
pub(super) struct RunFolder {
    pub(super) path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// Takes the first folder that is free. It keeps the compiled code of earlier runs, and nothing else of them counts.
    pub(super) fn take() -> anyhow::Result<Self> {
        let of = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
        let cache = cache.context("there is no folder for compiled code; set XDG_CACHE_HOME or HOME")?;
        let runs = cache.join("bulkhead").join("run");
        let refused = || format!("cannot use {}; set XDG_CACHE_HOME", runs.display());
        fs::create_dir_all(&runs).with_context(refused)?;
        for index in 0..MOST {
            let lock = runs.join(format!("{index}.lock"));
            let lock = File::options().create(true).truncate(false).write(true).open(lock);
            let lock = lock.with_context(refused)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error).with_context(refused),
            }
            // The host that takes the place of this process holds it until it ends.
            fcntl_setfd(&lock, FdFlags::empty()).with_context(refused)?;
            let path = runs.join(index.to_string());
            match fs::remove_dir_all(path.join(SLOTS)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).with_context(refused),
                _ => return Ok(Self { path, _lock: lock }),
            }
        }
        bail!("{MOST} runs use {}; end one", runs.display())
    }
}
