//! A bounded reader of numbers and bytes from a file whose length is known: it allocates nothing past the end.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bulkhead_inference::error::LoadError;

/// Largest value taken for any length in the header; keeps products of two far from overflow.
const LIMIT: usize = 1 << 24;

/// A file and a place in it.
pub struct Reader {
    path: PathBuf,
    inner: BufReader<File>,
    /// Length of the file in bytes.
    pub length: u64,
    /// Where the next bytes are taken from.
    pub position: u64,
}

impl Reader {
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let file = File::open(path).map_err(|source| LoadError::read(path, source))?;
        let length = file.metadata().map_err(|source| LoadError::read(path, source))?.len();
        Ok(Self {
            path: path.to_path_buf(),
            inner: BufReader::with_capacity(1 << 20, file),
            length,
            position: 0,
        })
    }

    /// Creates an error that names the file.
    pub fn fault(&self, reason: impl Into<String>) -> LoadError {
        LoadError::malformed(&self.path, reason)
    }

    pub fn seek(&mut self, position: u64) -> Result<(), LoadError> {
        self.inner.seek(SeekFrom::Start(position)).map_err(|source| LoadError::read(&self.path, source))?;
        self.position = position;
        Ok(())
    }

    /// Reads the next bytes; allocates nothing before the file is known to be that long.
    pub fn take(&mut self, count: u64) -> Result<Vec<u8>, LoadError> {
        let end = self.position.checked_add(count).filter(|end| *end <= self.length);
        let (Some(end), Ok(size)) = (end, usize::try_from(count)) else {
            let reason = format!("cut off: {count} bytes are due at {} of {}", self.position, self.length);
            return Err(self.fault(reason));
        };
        let mut bytes = vec![0; size];
        self.inner.read_exact(&mut bytes).map_err(|source| LoadError::read(&self.path, source))?;
        self.position = end;
        Ok(bytes)
    }

    pub fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], LoadError> {
        let bytes = self.take(SIZE as u64)?;
        <[u8; SIZE]>::try_from(bytes).map_err(|_| self.fault("cut off"))
    }

    pub fn u32(&mut self) -> Result<u32, LoadError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, LoadError> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f32(&mut self) -> Result<f32, LoadError> {
        self.array().map(f32::from_le_bytes)
    }

    /// Reads a length from the header: between 1 and [`LIMIT`].
    pub fn size(&mut self, what: &str) -> Result<usize, LoadError> {
        let value = self.u32()? as usize;
        if value == 0 || value > LIMIT {
            return Err(self.fault(format!("the {what} cannot be {value}")));
        }
        Ok(value)
    }
}
