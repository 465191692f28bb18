//! Reading an `E5S1` file.
//!
//! All numbers little-endian, nothing aligned before the tensors:
//!
//! | what | layout |
//! | --- | --- |
//! | magic, version | `E5S1`, u32 = 1 |
//! | shape | i32 each: hidden, layers, heads, intermediate, vocabulary rows, positions, token types; f32 layer norm epsilon; i32 block length = 32 |
//! | tokeniser | i32 each: pieces, ids of `<s>`, `</s>`, `<pad>`, `<unk>`; u64 text bytes; u32 offsets `[pieces + 1]`; f32 scores `[pieces]`; the pieces' UTF-8 text |
//! | normaliser | i32 entries, u32 bytes; per entry u32 code point, u8 count, u32 replacement code points `[count]` |
//! | directory | i32 entries; per entry u16 name length, name, u8 type (0 F32, 1 Q4_0), u32 elements, u64 offset in the file, u64 bytes |
//! | tensors | row-major; Q4_0: blocks of 32 elements, F16 scale then 16 bytes whose low halves are elements 0-15 and high halves 16-31, each plus 8 |

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::LoadError;

/// Elements in a Q4_0 block.
pub const BLOCK: usize = 32;
/// Bytes of a Q4_0 block: F16 scale and 32 halves of a byte.
pub const BLOCK_BYTES: usize = 18;
/// Largest value taken for any length in the header; keeps products of two far from overflow.
const LIMIT: usize = 1 << 24;
/// Most layers taken: the largest encoders have 48.
const LAYER_LIMIT: usize = 256;

/// Sizes and special ids from the header, checked against one another.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Width of a token's vector; a multiple of [`BLOCK`] and of `heads`.
    pub hidden: usize,
    /// Number of layers.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Width of the feed-forward layer; a multiple of [`BLOCK`].
    pub intermediate: usize,
    /// Rows of the word table; at least the number of pieces.
    pub vocabulary: usize,
    /// Longest sequence in tokens.
    pub positions: usize,
    /// Rows of the token-type table.
    pub types: usize,
    /// Layer norm's epsilon.
    pub epsilon: f32,
    /// Id of the sequence's first token.
    pub bos: usize,
    /// Id of the sequence's last token.
    pub eos: usize,
    /// Padding's id.
    pub pad: usize,
    /// The unknown piece's id.
    pub unk: usize,
}

/// How a tensor's elements are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Four bytes each.
    F32,
    /// In blocks of 4-bit values.
    Q4,
}

/// Where a tensor lies.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// How it is stored.
    pub storage: Storage,
    /// Number of elements.
    pub elements: usize,
    offset: u64,
    bytes: u64,
}

/// An open file whose header, vocabulary and directory are read and checked.
pub struct E5File {
    path: PathBuf,
    reader: BufReader<File>,
    length: u64,
    position: u64,
    /// Sizes and special ids.
    pub shape: Shape,
    /// The vocabulary: piece and score (log probability), by id.
    pub pieces: Vec<(String, f32)>,
    /// Replacements of single characters by the normaliser.
    pub normalizer: BTreeMap<String, String>,
    tensors: HashMap<String, Entry>,
}

impl E5File {
    /// Opens a file and reads everything but the tensors.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let file = File::open(path).map_err(|source| LoadError::read(path, source))?;
        let length = file.metadata().map_err(|source| LoadError::read(path, source))?.len();
        let placeholder = Shape {
            hidden: 0,
            layers: 0,
            heads: 0,
            intermediate: 0,
            vocabulary: 0,
            positions: 0,
            types: 0,
            epsilon: 0.0,
            bos: 0,
            eos: 0,
            pad: 0,
            unk: 0,
        };
        let mut this = Self {
            path: path.to_path_buf(),
            reader: BufReader::with_capacity(1 << 20, file),
            length,
            position: 0,
            shape: placeholder,
            pieces: Vec::new(),
            normalizer: BTreeMap::new(),
            tensors: HashMap::new(),
        };
        this.read_shape()?;
        this.read_vocabulary()?;
        this.read_normalizer()?;
        this.read_directory()?;
        Ok(this)
    }

    /// The text of a piece; empty for an id out of range.
    pub fn piece(&self, id: usize) -> &str {
        self.pieces.get(id).map_or("", |(piece, _)| piece)
    }

    /// A tensor of a known number of elements.
    pub fn tensor(&self, name: &str, elements: usize) -> Result<Entry, LoadError> {
        let entry =
            self.tensors.get(name).ok_or_else(|| self.fault(format!("tensor `{name}` is missing")))?;
        if entry.elements != elements {
            return Err(
                self.fault(format!("tensor `{name}` has {} elements, not {elements}", entry.elements))
            );
        }
        Ok(*entry)
    }

    /// Hands a tensor's bytes over in pieces of `step` bytes (the last may be shorter).
    pub fn stream<E: From<LoadError>>(
        &mut self,
        entry: Entry,
        step: usize,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.reader
            .seek(SeekFrom::Start(entry.offset))
            .map_err(|source| LoadError::read(&self.path, source))?;
        self.position = entry.offset;
        let mut left = entry.bytes;
        while left > 0 {
            let now = left.min(step as u64);
            let bytes = self.take(now)?;
            take(&bytes)?;
            left -= now;
        }
        Ok(())
    }

    /// An error that names this file.
    pub fn fault(&self, reason: impl Into<String>) -> LoadError {
        LoadError::malformed(&self.path, reason)
    }

    fn read_shape(&mut self) -> Result<(), LoadError> {
        if self.length < 8 || self.take(4)? != b"E5S1" {
            return Err(self.fault("this is no E5S1 file"));
        }
        let version = self.u32()?;
        if version != 1 {
            return Err(self.fault(format!("version {version} of E5S1 is not known; known is 1")));
        }
        let hidden = self.size("hidden size")?;
        let layers = self.size("number of layers")?;
        let heads = self.size("number of heads")?;
        let intermediate = self.size("feed-forward size")?;
        let vocabulary = self.size("number of word rows")?;
        let positions = self.size("number of positions")?;
        let types = self.size("number of token types")?;
        let epsilon = self.f32()?;
        let block = self.size("block length")?;
        if block != BLOCK {
            return Err(self.fault(format!("blocks of {block} elements are not known; known are {BLOCK}")));
        }
        if !hidden.is_multiple_of(BLOCK)
            || !intermediate.is_multiple_of(BLOCK)
            || !hidden.is_multiple_of(heads)
        {
            let sizes = format!("{hidden} (hidden), {intermediate} (feed-forward), {heads} (heads)");
            return Err(self.fault(format!("sizes do not fit together: {sizes}")));
        }
        if layers > LAYER_LIMIT || !(epsilon > 0.0 && epsilon < 1.0) {
            return Err(
                self.fault(format!("{layers} layers with layer norm epsilon {epsilon} cannot be right"))
            );
        }
        let shape = Shape {
            hidden,
            layers,
            heads,
            intermediate,
            vocabulary,
            positions,
            types,
            epsilon,
            ..self.shape
        };
        self.shape = shape;
        Ok(())
    }

    fn read_vocabulary(&mut self) -> Result<(), LoadError> {
        let count = self.size("number of pieces")?;
        if count > self.shape.vocabulary {
            let rows = self.shape.vocabulary;
            return Err(self.fault(format!("{count} pieces have only {rows} rows in the word table")));
        }
        let mut ids = [0_usize; 4];
        for id in &mut ids {
            *id = self.u32()? as usize;
            if *id >= count {
                return Err(self.fault(format!("special token {id} is no piece; there are {count}")));
            }
        }
        let [bos, eos, pad, unk] = ids;
        self.shape = Shape { bos, eos, pad, unk, ..self.shape };
        let text_bytes = self.u64()?;
        let offsets = self.take((count as u64 + 1) * 4)?;
        let scores = self.take(count as u64 * 4)?;
        let text = self.take(text_bytes)?;
        let offsets: Vec<_> = offsets.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        if offsets.first() != Some(&0) || offsets.last().map(|last| u64::from(*last)) != Some(text_bytes) {
            return Err(self.fault("the pieces' offsets do not span their text"));
        }
        let mut pieces = Vec::with_capacity(count);
        for (id, (bounds, score)) in offsets.array_windows().zip(scores.as_chunks().0).enumerate() {
            let [from, to] = bounds.map(|offset| offset as usize);
            let piece = text.get(from..to).and_then(|piece| std::str::from_utf8(piece).ok());
            let piece = piece.filter(|piece| !piece.is_empty());
            let score = Some(f32::from_le_bytes(*score)).filter(|score| score.is_finite());
            let (Some(piece), Some(score)) = (piece, score) else {
                return Err(self.fault(format!("piece {id} has a bad offset, text or score")));
            };
            pieces.push((piece.to_owned(), score));
        }
        self.pieces = pieces;
        Ok(())
    }

    fn read_normalizer(&mut self) -> Result<(), LoadError> {
        let count = self.u32()?;
        let bytes = u64::from(self.u32()?);
        let end = self.position.checked_add(bytes).filter(|end| *end <= self.length);
        let end = end.ok_or_else(|| self.fault("the normaliser reaches past the file's end"))?;
        for index in 0..count {
            if self.position >= end {
                return Err(self.fault(format!("the normaliser ends before its entry {index}")));
            }
            let key = char::from_u32(self.u32()?);
            let length = u64::from(self.take(1)?.first().copied().unwrap_or(0));
            let replacement: Option<String> = self
                .take(length * 4)?
                .as_chunks()
                .0
                .iter()
                .map(|bytes| char::from_u32(u32::from_le_bytes(*bytes)))
                .collect();
            let (Some(key), Some(replacement)) = (key.filter(|key| *key != '\0'), replacement) else {
                return Err(self.fault(format!("the normaliser's entry {index} is no character")));
            };
            self.normalizer.insert(key.to_string(), replacement);
        }
        if self.position != end {
            return Err(self.fault("the normaliser's length is wrong"));
        }
        Ok(())
    }

    fn read_directory(&mut self) -> Result<(), LoadError> {
        let count = self.u32()?;
        let mut tensors = HashMap::new();
        for index in 0..count {
            let length = u64::from(u16::from_le_bytes(self.array()?));
            let name = String::from_utf8(self.take(length)?)
                .map_err(|_| self.fault(format!("tensor {index} has a name that is no text")))?;
            let [storage] = self.array()?;
            let elements = self.u32()? as usize;
            let (offset, bytes) = (self.u64()?, self.u64()?);
            let (storage, expected) = match storage {
                0 => (Storage::F32, elements as u64 * 4),
                1 if elements.is_multiple_of(BLOCK) => (Storage::Q4, (elements / BLOCK * BLOCK_BYTES) as u64),
                _ => {
                    return Err(
                        self.fault(format!("tensor `{name}` is stored in an unknown way ({storage})"))
                    );
                }
            };
            if bytes != expected {
                return Err(self.fault(format!("tensor `{name}` has {bytes} bytes, not {expected}")));
            }
            if offset.checked_add(bytes).is_none_or(|end| end > self.length) {
                return Err(self.fault(format!("tensor `{name}` reaches past the file's end")));
            }
            if tensors.insert(name.clone(), Entry { storage, elements, offset, bytes }).is_some() {
                return Err(self.fault(format!("tensor `{name}` stands in the directory twice")));
            }
        }
        self.check_places(&tensors)?;
        self.tensors = tensors;
        Ok(())
    }

    /// Tensors lie behind the directory and do not overlap: a wrong offset would else read another's weights.
    fn check_places(&self, tensors: &HashMap<String, Entry>) -> Result<(), LoadError> {
        let mut places: Vec<_> =
            tensors.iter().map(|(name, entry)| (entry.offset, entry.bytes, name)).collect();
        places.sort_unstable();
        let mut free_from = self.position;
        for (offset, bytes, name) in places {
            if offset < free_from {
                return Err(self.fault(format!("tensor `{name}` overlaps with what stands before it")));
            }
            free_from = offset + bytes;
        }
        Ok(())
    }

    /// The next bytes; nothing is allocated before the file is known to be that long.
    fn take(&mut self, count: u64) -> Result<Vec<u8>, LoadError> {
        let end = self.position.checked_add(count).filter(|end| *end <= self.length);
        let (Some(end), Ok(size)) = (end, usize::try_from(count)) else {
            let reason = format!("cut off: {count} bytes are due at {} of {}", self.position, self.length);
            return Err(self.fault(reason));
        };
        let mut bytes = vec![0; size];
        self.reader.read_exact(&mut bytes).map_err(|source| LoadError::read(&self.path, source))?;
        self.position = end;
        Ok(bytes)
    }

    fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], LoadError> {
        let bytes = self.take(SIZE as u64)?;
        <[u8; SIZE]>::try_from(bytes).map_err(|_| self.fault("cut off"))
    }

    fn u32(&mut self) -> Result<u32, LoadError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, LoadError> {
        self.array().map(u64::from_le_bytes)
    }

    fn f32(&mut self) -> Result<f32, LoadError> {
        self.array().map(f32::from_le_bytes)
    }

    /// A length from the header: between 1 and [`LIMIT`].
    fn size(&mut self, what: &str) -> Result<usize, LoadError> {
        let value = self.u32()? as usize;
        if value == 0 || value > LIMIT {
            return Err(self.fault(format!("the {what} cannot be {value}")));
        }
        Ok(value)
    }
}
