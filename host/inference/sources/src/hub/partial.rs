//! A partial download into the cache. The bytes of a large file that arrived before the connection broke stay, and
//! the next attempt resumes after them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;

use bulkhead_inference::error::SourceError;
use bulkhead_inference::progress::Progress;
use sha2::{Digest, Sha256};
use ureq::Body;
use ureq::http::Response;

use super::HubModel;

/// Largest file that is fetched, in bytes.
const FILE_LIMIT: u64 = 8 << 30;
/// Bytes copied at a time.
const STEP: usize = 256 << 10;

pub struct PartialDownload<'a> {
    pub model: &'a HubModel,
    /// The file's name in the model.
    pub name: &'a str,
    /// Where it lies until it is whole.
    pub path: PathBuf,
    /// Its bytes when whole, if the hub says so.
    pub size: Option<u64>,
    /// Its SHA-256, where the hub knows it. Only such files are resumed: for others nothing proves that both parts
    /// fit.
    pub digest: Option<&'a str>,
}

impl PartialDownload<'_> {
    /// Returns how many bytes of an earlier attempt can be resumed from.
    pub fn resumable(&self) -> u64 {
        let there = fs::metadata(&self.path).map_or(0, |data| data.len());
        if self.digest.is_some() && self.size.is_some_and(|size| there < size) { there } else { 0 }
    }

    /// Writes an answer behind the first `start` bytes, and checks the whole.
    pub fn append(
        &self,
        answer: Response<Body>,
        start: u64,
        progress: &mut dyn Progress,
    ) -> Result<(), SourceError> {
        let written = self.write(answer, start, progress);
        let checked = written.and_then(|(size, digest)| match self.digest {
            Some(expected) if expected != digest => Err((
                SourceError::Digest { path: self.path.clone(), expected: expected.to_owned(), found: digest },
                Rest::Useless,
            )),
            _ => match self.size {
                Some(expected) if expected != size => {
                    let reason = format!("`{}` has {size} bytes, not {expected}", self.name);
                    Err((self.model.fault(reason), Rest::Useless))
                }
                _ => Ok(()),
            },
        });
        checked.map_err(|(fault, rest)| {
            if rest == Rest::Useless || self.digest.is_none() {
                // The error tells what went wrong; a file that is not there needs no removing.
                let _ = fs::remove_file(&self.path);
            }
            fault
        })
    }

    /// Returns size and digest of the whole file.
    fn write(
        &self,
        answer: Response<Body>,
        start: u64,
        progress: &mut dyn Progress,
    ) -> Result<(u64, String), (SourceError, Rest)> {
        let failed = |source| (SourceError::write(&self.path, source), Rest::Useless);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(start == 0)
            .open(&self.path)
            .map_err(failed)?;
        let mut digest = Sha256::new();
        // This leaves the file at the place to go on from.
        let mut size = digest_front(&mut file, start, &mut digest).map_err(failed)?;
        progress.advance(size);
        let mut body = answer.into_body().into_with_config().limit(FILE_LIMIT).reader();
        let mut buffer = vec![0; STEP];
        let mut broken = None;
        while broken.is_none() {
            let count = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(fault) => {
                    broken = Some(fault);
                    0
                }
            };
            let bytes = buffer.get(..count).unwrap_or_default();
            file.write_all(bytes).map_err(failed)?;
            digest.update(bytes);
            size += count as u64;
            progress.advance(count as u64);
        }
        file.sync_all().map_err(failed)?;
        match broken {
            None if self.size.is_none_or(|expected| size >= expected) => {
                Ok((size, hex::encode(digest.finalize())))
            }
            broken => Err((self.broke_off(size, broken), Rest::Useful)),
        }
    }

    fn broke_off(&self, size: u64, fault: Option<io::Error>) -> SourceError {
        let of = self.size.map_or_else(String::new, |expected| format!(" of {expected}"));
        let why = fault.map_or_else(String::new, |fault| format!(": {fault}"));
        self.model.fault(format!("`{}` broke off after {size}{of} bytes{why}; try again", self.name))
    }
}

/// Whether the rest of a file that could not be fetched can be resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Useful,
    Useless,
}

/// Digests the first bytes of a file, and returns how many these are.
fn digest_front(file: &mut File, bytes: u64, digest: &mut Sha256) -> io::Result<u64> {
    let mut buffer = vec![0; STEP];
    let mut rest = bytes;
    while rest > 0 {
        let most = usize::try_from(rest).unwrap_or(STEP).min(STEP);
        let part = buffer.get_mut(..most).unwrap_or_default();
        file.read_exact(part)?;
        digest.update(part);
        rest -= most as u64;
    }
    Ok(bytes)
}
