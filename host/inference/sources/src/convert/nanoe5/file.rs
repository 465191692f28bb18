//! The reader of an `E5S1` file.
//!
//! All numbers little-endian, nothing aligned before the tensors:
//!
//! | what | layout |
//! | --- | --- |
//! | magic, version | `E5S1`, u32 = 1 |
//! | shape | i32 each: hidden, layers, heads, intermediate, vocabulary rows, positions, token types; f32 layer norm epsilon; i32 block length = 32 |
//! | tokenizer | i32 each: pieces, ids of `<s>`, `</s>`, `<pad>`, `<unk>`; u64 text bytes; u32 offsets `[pieces + 1]`; f32 scores `[pieces]`; the pieces' UTF-8 text |
//! | normaliser | i32 entries, u32 bytes; per entry u32 code point, u8 count, u32 replacement code points `[count]` |
//! | directory | i32 entries; per entry u16 name length, name, u8 type (0 F32, 1 Q4_0), u32 elements, u64 offset in the file, u64 bytes |
//! | tensors | row-major; Q4_0: blocks of 32 elements, F16 scale then 16 bytes whose low halves are elements 0-15 and high halves 16-31, each plus 8 |

mod reader;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use bulkhead_inference::error::LoadError;

use self::reader::Reader;

/// Elements in a Q4_0 block.
pub const BLOCK: usize = 32;
/// Bytes of a Q4_0 block: F16 scale and 32 halves of a byte.
pub const BLOCK_BYTES: usize = 18;
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
    reader: Reader,
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
        let mut reader = Reader::open(path)?;
        let mut shape = read_shape(&mut reader)?;
        let pieces = read_vocabulary(&mut reader, &mut shape)?;
        let normalizer = read_normalizer(&mut reader)?;
        let tensors = read_directory(&mut reader)?;
        Ok(Self { reader, shape, pieces, normalizer, tensors })
    }

    /// Returns the text of a piece; empty for an id out of range.
    pub fn piece(&self, id: usize) -> &str {
        self.pieces.get(id).map_or("", |(piece, _)| piece)
    }

    /// Returns a tensor of a known number of elements.
    pub fn tensor(&self, name: &str, elements: usize) -> Result<Entry, LoadError> {
        let entry =
            self.tensors.get(name).ok_or_else(|| self.fault(format!("tensor `{name}` is missing")))?;
        if entry.elements != elements {
            let reason = format!("tensor `{name}` has {} elements, not {elements}", entry.elements);
            return Err(self.fault(reason));
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
        self.reader.seek(entry.offset)?;
        let mut left = entry.bytes;
        while left > 0 {
            let now = left.min(step as u64);
            take(&self.reader.take(now)?)?;
            left -= now;
        }
        Ok(())
    }

    /// Creates an error that names this file.
    pub fn fault(&self, reason: impl Into<String>) -> LoadError {
        self.reader.fault(reason)
    }
}

fn read_shape(reader: &mut Reader) -> Result<Shape, LoadError> {
    if reader.length < 8 || reader.take(4)? != b"E5S1" {
        return Err(reader.fault("this is not an E5S1 file"));
    }
    let version = reader.u32()?;
    if version != 1 {
        return Err(reader.fault(format!("version {version} of E5S1 is not known; known is 1")));
    }
    let hidden = reader.size("hidden size")?;
    let layers = reader.size("number of layers")?;
    let heads = reader.size("number of heads")?;
    let intermediate = reader.size("feed-forward size")?;
    let vocabulary = reader.size("number of word rows")?;
    let positions = reader.size("number of positions")?;
    let types = reader.size("number of token types")?;
    let epsilon = reader.f32()?;
    let block = reader.size("block length")?;
    if block != BLOCK {
        return Err(reader.fault(format!("blocks of {block} elements are not known; known are {BLOCK}")));
    }
    if !hidden.is_multiple_of(BLOCK) || !intermediate.is_multiple_of(BLOCK) || !hidden.is_multiple_of(heads) {
        let sizes = format!("{hidden} (hidden), {intermediate} (feed-forward), {heads} (heads)");
        return Err(reader.fault(format!("sizes do not fit together: {sizes}")));
    }
    if layers > LAYER_LIMIT || !(epsilon > 0.0 && epsilon < 1.0) {
        return Err(
            reader.fault(format!("{layers} layers with layer norm epsilon {epsilon} cannot be right"))
        );
    }
    // The special ids come with the vocabulary.
    let (bos, eos, pad, unk) = (0, 0, 0, 0);
    Ok(Shape {
        hidden,
        layers,
        heads,
        intermediate,
        vocabulary,
        positions,
        types,
        epsilon,
        bos,
        eos,
        pad,
        unk,
    })
}

fn read_vocabulary(reader: &mut Reader, shape: &mut Shape) -> Result<Vec<(String, f32)>, LoadError> {
    let count = reader.size("number of pieces")?;
    if count > shape.vocabulary {
        let reason = format!("{count} pieces have only {} rows in the word table", shape.vocabulary);
        return Err(reader.fault(reason));
    }
    for id in [&mut shape.bos, &mut shape.eos, &mut shape.pad, &mut shape.unk] {
        *id = reader.u32()? as usize;
        if *id >= count {
            return Err(reader.fault(format!("special token {id} is not a piece; there are {count}")));
        }
    }
    let text_bytes = reader.u64()?;
    let offsets = reader.take((count as u64 + 1) * 4)?;
    let scores = reader.take(count as u64 * 4)?;
    let text = reader.take(text_bytes)?;
    let offsets: Vec<_> = offsets.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    if offsets.first() != Some(&0) || offsets.last().map(|last| u64::from(*last)) != Some(text_bytes) {
        return Err(reader.fault("the pieces' offsets do not span their text"));
    }
    let mut pieces = Vec::with_capacity(count);
    for (id, (bounds, score)) in offsets.array_windows().zip(scores.as_chunks().0).enumerate() {
        let [from, to] = bounds.map(|offset| offset as usize);
        let piece = text.get(from..to).and_then(|piece| std::str::from_utf8(piece).ok());
        let piece = piece.filter(|piece| !piece.is_empty());
        let score = Some(f32::from_le_bytes(*score)).filter(|score| score.is_finite());
        let (Some(piece), Some(score)) = (piece, score) else {
            return Err(reader.fault(format!("piece {id} has a bad offset, text or score")));
        };
        pieces.push((piece.to_owned(), score));
    }
    Ok(pieces)
}

fn read_normalizer(reader: &mut Reader) -> Result<BTreeMap<String, String>, LoadError> {
    let count = reader.u32()?;
    let bytes = u64::from(reader.u32()?);
    let end = reader.position.checked_add(bytes).filter(|end| *end <= reader.length);
    let end = end.ok_or_else(|| reader.fault("the normaliser reaches past the file's end"))?;
    let mut replacements = BTreeMap::new();
    for index in 0..count {
        if reader.position >= end {
            return Err(reader.fault(format!("the normaliser ends before its entry {index}")));
        }
        let key = char::from_u32(reader.u32()?).filter(|key| *key != '\0');
        let [length] = reader.array()?;
        let characters = reader.take(u64::from(length) * 4)?;
        let characters =
            characters.as_chunks().0.iter().map(|bytes| char::from_u32(u32::from_le_bytes(*bytes)));
        let (Some(key), Some(replacement)) = (key, characters.collect::<Option<String>>()) else {
            return Err(reader.fault(format!("the normaliser's entry {index} is not a character")));
        };
        replacements.insert(key.to_string(), replacement);
    }
    if reader.position != end {
        return Err(reader.fault("the normaliser's length is wrong"));
    }
    Ok(replacements)
}

fn read_directory(reader: &mut Reader) -> Result<HashMap<String, Entry>, LoadError> {
    let count = reader.u32()?;
    let mut tensors = HashMap::new();
    for index in 0..count {
        let length = u64::from(u16::from_le_bytes(reader.array()?));
        let name = String::from_utf8(reader.take(length)?)
            .map_err(|_| reader.fault(format!("tensor {index} has a name that is not text")))?;
        let [storage] = reader.array()?;
        let elements = reader.u32()? as usize;
        let (offset, bytes) = (reader.u64()?, reader.u64()?);
        let (storage, expected) = match storage {
            0 => (Storage::F32, elements as u64 * 4),
            1 if elements.is_multiple_of(BLOCK) => (Storage::Q4, (elements / BLOCK * BLOCK_BYTES) as u64),
            _ => {
                let reason = format!("tensor `{name}` is stored in an unknown way ({storage})");
                return Err(reader.fault(reason));
            }
        };
        if bytes != expected {
            return Err(reader.fault(format!("tensor `{name}` has {bytes} bytes, not {expected}")));
        }
        if offset.checked_add(bytes).is_none_or(|end| end > reader.length) {
            return Err(reader.fault(format!("tensor `{name}` reaches past the file's end")));
        }
        if tensors.insert(name.clone(), Entry { storage, elements, offset, bytes }).is_some() {
            return Err(reader.fault(format!("tensor `{name}` is in the directory twice")));
        }
    }
    check_places(reader, &tensors)?;
    Ok(tensors)
}

/// Checks that tensors lie behind the directory and do not overlap: a wrong offset would else read another's weights.
fn check_places(reader: &Reader, tensors: &HashMap<String, Entry>) -> Result<(), LoadError> {
    let mut places: Vec<_> = tensors.iter().map(|(name, entry)| (entry.offset, entry.bytes, name)).collect();
    places.sort_unstable();
    let mut free_from = reader.position;
    for (offset, bytes, name) in places {
        if offset < free_from {
            return Err(reader.fault(format!("tensor `{name}` overlaps with the one before it")));
        }
        free_from = offset + bytes;
    }
    Ok(())
}
