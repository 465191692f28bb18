//! The file form of a compact tokenizer: a header and sections of numbers that are read where they lie.
//!
//! `BHTOKENS`, version (u32), number of sections (u32), then for each its offset and length in bytes (u64 each),
//! then the sections, each at a multiple of 8. All numbers are little-endian.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use super::error::OpenError;

const MAGIC: &[u8; 8] = b"BHTOKENS";
/// Raised whenever the meaning of a section changes; other versions are refused.
const VERSION: u32 = 4;
const HEADER: usize = 16;
const ENTRY: usize = 16;

/// The sections of one compact tokenizer.
pub(super) struct Packed {
    bytes: Bytes,
    sections: Vec<Range<usize>>,
}

/// Bytes that begin at a multiple of 8.
enum Bytes {
    Owned { words: Vec<u64>, len: usize },
    Mapped { map: Arc<Mmap>, place: Range<usize> },
}

impl Packed {
    /// Lays sections out one after the other.
    pub(super) fn new(sections: &[&[u8]]) -> Self {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(sections.len() as u32).to_le_bytes());
        let mut offset = HEADER + ENTRY * sections.len();
        for section in sections {
            bytes.extend_from_slice(&(offset as u64).to_le_bytes());
            bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
            places.push(offset..offset + section.len());
            offset += section.len().next_multiple_of(8);
        }
        for section in sections {
            bytes.extend_from_slice(section);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        Self { bytes: Bytes::copy(&bytes), sections: places }
    }

    /// Maps a whole file.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let file = File::open(path).map_err(|source| OpenError::read(path, source))?;
        // SAFETY: the map is read only. Shortening the file in place while it is served breaks the process, as with
        // any mapped file; such files are replaced by renaming.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) }.map_err(|source| OpenError::read(path, source))?;
        let place = 0..map.len();
        Self::from_map(Arc::new(map), place).map_err(|reason| OpenError::malformed(path, reason))
    }

    /// Takes a part of a mapped file; copies it only if it does not begin at a multiple of 8.
    pub(super) fn from_map(map: Arc<Mmap>, place: Range<usize>) -> Result<Self, String> {
        let slice = map.get(place.clone()).ok_or("the compact tokenizer lies outside the file")?;
        let sections = sections(slice)?;
        let bytes = match slice.as_ptr().cast::<u64>().is_aligned() {
            true => Bytes::Mapped { map, place },
            false => Bytes::copy(slice),
        };
        Ok(Self { bytes, sections })
    }

    /// Returns all bytes, as they are written to a file.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Owned { words, len } => as_bytes(words).get(..*len).unwrap_or_default(),
            Bytes::Mapped { map, place } => map.get(place.clone()).unwrap_or_default(),
        }
    }

    /// Returns one section; empty if there is no section of this number.
    pub(super) fn section(&self, number: usize) -> &[u8] {
        let place = self.sections.get(number).cloned();
        place.and_then(|place| self.bytes().get(place)).unwrap_or_default()
    }

    /// Returns one section as numbers in file order of bytes; what is left over at its end is ignored.
    #[allow(unsafe_code)]
    pub(super) fn u32s(&self, number: usize) -> &[u32] {
        // SAFETY: any four bytes are a u32. The section begins at a multiple of 8, so nothing precedes the numbers.
        unsafe { self.section(number).align_to::<u32>().1 }
    }

    /// Does the same as [`Self::u32s`] for 64 bits.
    #[allow(unsafe_code)]
    pub(super) fn u64s(&self, number: usize) -> &[u64] {
        // SAFETY: as above, for eight bytes.
        unsafe { self.section(number).align_to::<u64>().1 }
    }
}

impl Bytes {
    fn copy(bytes: &[u8]) -> Self {
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            u64::from_ne_bytes(word)
        };
        Self::Owned { words: bytes.chunks(8).map(word).collect(), len: bytes.len() }
    }
}

#[allow(unsafe_code)]
fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: a u64 is eight bytes without padding, and bytes need no alignment.
    unsafe { words.align_to::<u8>().1 }
}

/// Reads and checks the header: every section inside the bytes, at a multiple of 8.
fn sections(bytes: &[u8]) -> Result<Vec<Range<usize>>, String> {
    let number = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    if bytes.get(..8) != Some(MAGIC.as_slice()) {
        return Err("not a compact tokenizer".to_owned());
    }
    if number(8) != Some(VERSION) {
        return Err(format!("a compact tokenizer of version {:?}, not {VERSION}", number(8).unwrap_or(0)));
    }
    let count = number(12).ok_or("the header is cut off")? as usize;
    let table = bytes.get(HEADER..).unwrap_or_default().as_chunks::<ENTRY>().0.get(..count);
    let place = |entry: &[u8; ENTRY]| {
        let [offset, len] = entry.as_chunks::<8>().0 else { return None };
        let offset = usize::try_from(u64::from_le_bytes(*offset)).ok()?;
        let end = offset.checked_add(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        (offset.is_multiple_of(8) && end <= bytes.len()).then_some(offset..end)
    };
    let places = table.ok_or("the header is cut off")?.iter().map(place).collect::<Option<Vec<_>>>();
    places.ok_or_else(|| "a section of the compact tokenizer lies outside the file".to_owned())
}

/// Returns numbers as bytes of this machine's order; the writer has put them in file order.
pub(super) fn u32_bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}
