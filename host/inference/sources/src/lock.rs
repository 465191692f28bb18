//! A lock for one pull of a model at a time, across processes.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bulkhead_inference::error::SourceError;
use bulkhead_inference::progress::Progress;

/// How long a second pull waits for the first: as long as the download itself may take, and the conversion.
const WAIT: Duration = Duration::from_secs(35 * 60);
/// How often it looks.
const EVERY: Duration = Duration::from_millis(200);

/// A held lock: given back when dropped, and by the operating system when the process ends in any way. The file
/// stays, since removing it would let a third process lock a file that the second still waits for.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, and waits while another process holds it.
    ///
    /// # Errors
    ///
    /// When the file cannot be made or locked, or the wait was too long.
    pub fn take(path: &Path, progress: &mut dyn Progress) -> Result<Self, SourceError> {
        let failed = |source| SourceError::write(path, source);
        let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        let start = Instant::now();
        let mut waiting = false;
        let outcome = loop {
            match file.try_lock() {
                Ok(()) => break Ok(()),
                Err(TryLockError::Error(source)) => break Err(failed(source)),
                Err(TryLockError::WouldBlock) if start.elapsed() > WAIT => {
                    break Err(SourceError::Busy { path: path.to_path_buf(), minutes: WAIT.as_secs() / 60 });
                }
                Err(TryLockError::WouldBlock) => {
                    if !waiting {
                        progress.start("wait for another pull of this model", None);
                        waiting = true;
                    }
                    sleep(EVERY);
                }
            }
        };
        if waiting {
            progress.finish();
        }
        outcome.map(|()| Self { _file: file })
    }
}
