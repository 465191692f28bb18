//! A model's tokenizer: the compact form where there is one, else the reference.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;

use crate::compact::Compact;
use crate::definition::Definition;
use crate::error::{OpenError, TokenizeError};
use crate::pair_template::PairTemplate;
use crate::reference::Reference;
use crate::token::Token;

/// A text longer than this (bytes), and than [`BYTES_PER_TOKEN`] times the limit, is not read to its end: a
/// limit of 512 tokens, whose bytes these are, must not cost the time and memory of 10 MB of text.
const READ_BYTES: usize = 512 * BYTES_PER_TOKEN;

/// No text of natural language comes near this many bytes a token.
const BYTES_PER_TOKEN: usize = 256;

/// A model's tokenizer.
pub struct Tokenizer {
    path: PathBuf,
    /// The compact form, if the file's shape has one.
    pub(crate) compact: Option<Compact>,
    /// Loaded at once if there is no compact form, else only if that is damaged.
    reference: OnceLock<Result<Reference, OpenError>>,
    special: (Vec<u32>, Vec<u32>),
    /// `None` if it takes no pairs of texts.
    pub(crate) pair: Option<PairTemplate>,
    unknown_id: Option<u32>,
    /// Without the special tokens, and with them.
    id_bounds: (u32, u32),
}

/// Settings of encoding a text.
#[derive(Debug, Clone, Copy)]
pub struct EncodeOptions {
    /// The most tokens to keep, special tokens included.
    pub limit: usize,
    /// Where a text that is too long is cut.
    pub side: TruncationSide,
    /// Whether to add the model's special tokens (`[CLS]`, `</s>` and the like); they outlive the cut.
    pub special_tokens: bool,
}

/// The end of a text that is cut away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TruncationSide {
    /// The beginning.
    Left,
    /// The end.
    #[default]
    Right,
}

/// The result of encoding a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoded {
    /// Tokens of the whole text, special tokens included; `None` for a text that was not read to its end (longer
    /// than 128 KiB and than 256 bytes a token of the limit), as it has more than the limit.
    pub count: Option<usize>,
    /// Tokens that were appended, at most the limit.
    pub kept: usize,
}

impl Encoded {
    /// Returns whether tokens were cut away.
    pub fn is_cut(&self) -> bool {
        self.count.is_none_or(|count| count > self.kept)
    }
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not what it should be; the message names it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let bytes = std::fs::read(path).map_err(|source| OpenError::read(path, source))?;
        let malformed = |reason| OpenError::malformed(path, reason);
        let definition = Definition::parse(&bytes).map_err(malformed)?;
        let source_len = bytes.len() as u64;
        drop(bytes);
        let compact = Compact::build(&definition, source_len)
            .inspect_err(
                |uncovered| tracing::debug!(path = %path.display(), uncovered, "no compact tokenizer"),
            )
            .ok();
        let tokenizer = Self {
            path: path.to_path_buf(),
            compact,
            reference: OnceLock::new(),
            unknown_id: definition.unknown_id().map_err(malformed)?,
            id_bounds: definition.id_bounds,
            special: definition.special,
            pair: definition.pair,
        };
        if tokenizer.compact.is_none() {
            tokenizer
                .reference
                .get_or_init(|| Reference::open(path))
                .as_ref()
                .map_err(OpenError::duplicate)?;
        }
        Ok(tokenizer)
    }

    /// Maps a compact form that [`Self::compact_bytes`] gave. `path` is the `tokenizer.json` that it was made
    /// from; it is read only should the form prove damaged later.
    ///
    /// # Errors
    ///
    /// When the form is not sound or of another version, or when the `tokenizer.json` is missing or of another
    /// length than the one that the form was made from.
    pub fn open_compact(compact: &Path, path: &Path) -> Result<Self, OpenError> {
        Self::with_compact(Compact::open(compact)?, compact, path)
    }

    /// Does the same as [`Self::open_compact`], for a form that lies within a larger mapped file, which `compact`
    /// names.
    ///
    /// # Errors
    ///
    /// As [`Self::open_compact`].
    pub fn from_map(
        map: Arc<Mmap>,
        place: Range<usize>,
        compact: &Path,
        path: &Path,
    ) -> Result<Self, OpenError> {
        let form = Compact::from_map(map, place).map_err(|reason| OpenError::malformed(compact, reason))?;
        Self::with_compact(form, compact, path)
    }

    fn with_compact(form: Compact, compact: &Path, path: &Path) -> Result<Self, OpenError> {
        let properties = form.properties();
        let len = std::fs::metadata(path).map_err(|source| OpenError::read(path, source))?.len();
        if len != properties.source_len {
            let reason = format!("made from another {}: its length differs", path.display());
            return Err(OpenError::malformed(compact, reason));
        }
        Ok(Self {
            path: path.to_path_buf(),
            special: properties.special.clone(),
            pair: properties.pair.clone(),
            unknown_id: properties.unknown_id,
            id_bounds: properties.id_bounds,
            compact: Some(form),
            reference: OnceLock::new(),
        })
    }

    /// Returns the compact form, to be kept in a file; `None` when the tokenizer's shape has none.
    pub fn compact_bytes(&self) -> Option<&[u8]> {
        self.compact.as_ref().map(Compact::bytes)
    }

    /// Returns whether the reference has been loaded: a large vocabulary takes hundreds of MB there.
    pub fn reference_loaded(&self) -> bool {
        self.reference.get().is_some()
    }

    /// Appends a text's token ids, at most `options.limit`.
    ///
    /// # Errors
    ///
    /// When the limit is smaller than the number of special tokens, or the reference refuses the text.
    pub fn encode(
        &self,
        text: &str,
        options: EncodeOptions,
        ids: &mut Vec<u32>,
    ) -> Result<Encoded, TokenizeError> {
        let (before, after) = match options.special_tokens {
            true => (self.special.0.as_slice(), self.special.1.as_slice()),
            false => (Default::default(), Default::default()),
        };
        let special = before.len() + after.len();
        let Some(room) = options.limit.checked_sub(special) else {
            return Err(TokenizeError::Limit { limit: options.limit, special });
        };
        let start = ids.len();
        ids.extend_from_slice(before);
        let own = ids.len();
        let count = self.encode_enough(text, room, options.side, ids)?;
        cut(ids, own, room, options.side);
        ids.extend_from_slice(after);
        Ok(Encoded { count: count.map(|count| count + special), kept: ids.len() - start })
    }

    /// Appends the ids of a text, or of so much of it that more than `room` come of it; returns how many the whole
    /// text has, if it was read.
    pub(crate) fn encode_enough(
        &self,
        text: &str,
        room: usize,
        side: TruncationSide,
        ids: &mut Vec<u32>,
    ) -> Result<Option<usize>, TokenizeError> {
        let before = ids.len();
        let mut bytes = room.saturating_mul(BYTES_PER_TOKEN).max(READ_BYTES);
        loop {
            let part = shorten(text, bytes, side);
            match &self.compact {
                Some(compact) if compact.encode(part, ids).is_some() => {}
                Some(compact) if let Some(hybrid) = compact.hybrid() => hybrid.encode(part, ids)?,
                _ => self.reference()?.encode(part, ids)?,
            }
            let count = ids.len() - before;
            if part.len() == text.len() {
                return Ok(Some(count));
            }
            if count > room {
                return Ok(None);
            }
            ids.truncate(before);
            // Few texts need another part. Larger steps read less in all: at worst little more than twice the text.
            bytes = bytes.saturating_mul(16);
        }
    }

    /// Appends the ids that the reference gives, without special tokens and without a limit: what [`Self::encode`]
    /// is held against.
    ///
    /// # Errors
    ///
    /// When the reference refuses the text.
    pub fn encode_by_reference(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        self.reference()?.encode(text, ids)
    }

    /// Appends the ids that the compact form gives, without special tokens and without a limit; false, and
    /// nothing appended, when the text is not covered.
    pub fn encode_by_compact(&self, text: &str, ids: &mut Vec<u32>) -> bool {
        self.compact.as_ref().and_then(|compact| compact.encode(text, ids)).is_some()
    }

    /// Returns all tokens of a text with their places in it.
    ///
    /// # Errors
    ///
    /// When the reference refuses the text.
    pub fn tokens(&self, text: &str, special_tokens: bool) -> Result<Vec<Token>, TokenizeError> {
        match self.compact.as_ref().and_then(Compact::hybrid) {
            Some(hybrid) => hybrid.tokens(text, special_tokens),
            None => self.reference()?.tokens(text, special_tokens),
        }
    }

    /// Returns the id of text outside the vocabulary, if the model has one.
    pub fn unknown_id(&self) -> Option<u32> {
        self.unknown_id
    }

    /// Returns one more than the greatest id that a text can get, with or without special tokens.
    pub fn id_bound(&self, special_tokens: bool) -> u32 {
        if special_tokens { self.id_bounds.1 } else { self.id_bounds.0 }
    }

    /// Returns how many special tokens each text gets.
    pub fn special_tokens(&self) -> usize {
        self.special.0.len() + self.special.1.len()
    }

    pub(crate) fn reference(&self) -> Result<&Reference, TokenizeError> {
        let reference = self.reference.get_or_init(|| Reference::open(&self.path));
        reference.as_ref().map_err(|fault| TokenizeError::Reference(fault.to_string()))
    }
}

/// Returns at most so many bytes of a text. It cuts at a space where one is near, so that the tokens on the near side
/// are those of the whole text.
fn shorten(text: &str, bytes: usize, side: TruncationSide) -> &str {
    if text.len() <= bytes {
        return text;
    }
    match side {
        TruncationSide::Right => {
            let part = text.get(..text.floor_char_boundary(bytes)).unwrap_or(text);
            part.rfind(' ').filter(|at| *at > bytes / 2).and_then(|at| part.get(..at)).unwrap_or(part)
        }
        TruncationSide::Left => {
            let part = text.get(text.ceil_char_boundary(text.len() - bytes)..).unwrap_or(text);
            part.find(' ').filter(|at| *at < bytes / 2).and_then(|at| part.get(at..)).unwrap_or(part)
        }
    }
}

/// Cuts the ids from `own` on down to `room`.
pub(crate) fn cut(ids: &mut Vec<u32>, own: usize, room: usize, side: TruncationSide) {
    let excess = (ids.len() - own).saturating_sub(room);
    match side {
        TruncationSide::Right => ids.truncate(ids.len() - excess),
        TruncationSide::Left => drop(ids.drain(own..own + excess)),
    }
}
