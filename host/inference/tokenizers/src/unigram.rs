//! Unigram behind SentencePiece's normaliser and Metaspace, in compact form.

mod parameters;

use super::charsmap::{self, Charsmap, Mapped, stands_alone};
use super::definition::{Definition, Vocabulary};
use super::lattice::{Lattice, Pieces};
use super::packed::{Packed, u32_bytes};
use super::scratch::Scratch;
use super::trie::{self, Trie};
use super::word_cache::WordCache;
pub(super) use parameters::Parameters;
use parameters::{META, Runs};

/// Subtracted from the lowest score for an unknown character (`K_UNK_PENALTY` of the reference).
const PENALTY: f64 = 10.0;

/// Numbers of the sections.
const TRIE: usize = 1;
const SCORES: usize = 2;
const CHARSMAP: usize = 3;
const REPLACEMENTS: usize = 4;

/// Builds the form, or says what in the definition it does not cover.
pub(super) fn build(definition: &Definition) -> Result<(Parameters, Vec<Vec<u8>>), String> {
    let model = &definition.model;
    let (Vocabulary::Scores(pieces), Some(unknown), false) =
        (&model.vocab, model.unk_id, model.byte_fallback.unwrap_or(false))
    else {
        return Err("Unigram parameters".to_owned());
    };
    let lowest = pieces.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    // With such scores a run of unknown characters, which the reference looks up once more as a whole, is never
    // a piece itself: the piece would have won.
    if unknown as usize >= pieces.len() || !lowest.is_finite() || lowest >= PENALTY {
        return Err("Unigram scores".to_owned());
    }
    let unknown_score = lowest - PENALTY;
    let mut parameters =
        Parameters { unknown, unknown_score: unknown_score.to_bits(), ..Parameters::default() };
    parameters.highest = highest(pieces, unknown_score);
    let mut blob = Vec::new();
    parameters.read_normalizer(&definition.normalizer, &mut blob)?;
    parameters.read_pre_tokenizer(&definition.pre_tokenizer)?;
    let mut keys: Vec<(&[u8], u32)> =
        (0u32..).zip(pieces).map(|(id, (piece, _))| (piece.as_bytes(), id)).collect();
    keys.retain(|(piece, _)| !piece.is_empty());
    keys.sort_unstable();
    // of equal pieces the last one counts
    keys.reverse();
    keys.dedup_by_key(|(piece, _)| *piece);
    keys.reverse();
    let units = trie::build(&keys).ok_or("too many pieces, or one with a zero byte")?;
    let scores = pieces.iter().flat_map(|(_, score)| score.to_bits().to_le_bytes()).collect();
    let (map, replacements) = match parameters.charsmap {
        true => charsmap::split(&blob).ok_or("a broken character map")?,
        false => Default::default(),
    };
    let sections = vec![u32_bytes(&units), scores, map.to_vec(), replacements.to_vec()];
    Ok((parameters, sections))
}

/// Returns the bits of the best score that a piece has, or an unknown character, by the first byte; empty if a score
/// above zero makes longer ways better.
fn highest(pieces: &[(String, f64)], unknown_score: f64) -> Vec<u64> {
    let mut highest = vec![unknown_score; 256];
    for (piece, score) in pieces {
        let best = piece.bytes().next().and_then(|first| highest.get_mut(usize::from(first)));
        if let Some(best) = best {
            *best = best.max(*score);
        }
    }
    match highest.iter().all(|score| *score <= 0.0) {
        true => highest.into_iter().map(f64::to_bits).collect(),
        false => Vec::new(),
    }
}

/// Checks a form from a file.
pub(super) fn check(parameters: &Parameters, packed: &Packed, id_bound: u32) -> bool {
    let pieces = u32::try_from(packed.u64s(SCORES).len()).unwrap_or(0);
    parameters.unknown < pieces
        && pieces <= id_bound
        && parameters.isolated.is_ascii()
        && trie::check(packed.u32s(TRIE), pieces)
}

/// The action on a character of ASCII before another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ascii {
    /// It is written as this byte, which neither separates nor is set apart.
    Put(u8),
    /// It is (or becomes) a space.
    Space,
    /// Anything else: the long way.
    Other,
}

/// Returns the actions.
pub(super) fn ascii(parameters: &Parameters, packed: &Packed) -> [Ascii; 128] {
    let charsmap = charsmap(parameters, packed);
    let plain = |byte: u8| match byte {
        b' ' => Ascii::Space,
        _ if char::from(byte).is_whitespace() || parameters.isolated.contains(char::from(byte)) => {
            Ascii::Other
        }
        _ => Ascii::Put(byte),
    };
    std::array::from_fn(|byte| {
        let byte = byte as u8;
        let mapped = match charsmap {
            Some(charsmap) => charsmap.get(char::from(byte).encode_utf8(&mut [0; 4])).owned(),
            None => Some(None),
        };
        match mapped.as_ref().map(|mapped| mapped.as_ref().map(String::as_bytes)) {
            _ if byte == b'\r' => Ascii::Other,
            Some(None) => plain(byte),
            Some(Some([to])) if to.is_ascii() => plain(*to),
            _ => Ascii::Other,
        }
    })
}

impl Mapped<'_> {
    /// Returns the replacement, if there is one; `None` for a broken map.
    fn owned(self) -> Option<Option<String>> {
        match self {
            Mapped::Same => Some(None),
            Mapped::To(other) => Some(Some(other.to_owned())),
            Mapped::Broken => None,
        }
    }
}

fn charsmap<'a>(parameters: &Parameters, packed: &'a Packed) -> Option<Charsmap<'a>> {
    parameters.charsmap.then(|| Charsmap::new(packed.u32s(CHARSMAP), packed.section(REPLACEMENTS)))
}

/// One text on its way to ids.
struct Run<'a> {
    parameters: &'a Parameters,
    lattice: Lattice<'a>,
    /// The normalised text so far with `▁` for space; the current word begins at `start`.
    text: &'a mut Vec<u8>,
    start: usize,
    /// Whether the next character begins a stretch of text that gets a `▁` in front.
    fresh: bool,
    /// Spaces that are not written yet.
    spaces: usize,
    ids: &'a mut Vec<u32>,
}

/// Appends a text's ids and leaves its normalised form, with `▁` for space, in `scratch.text`; `None` where the
/// character map is broken. `number` is the form's own.
pub(super) fn encode(
    parameters: &Parameters,
    packed: &Packed,
    (ascii, number): (&[Ascii; 128], u32),
    text: &str,
    scratch: &mut Scratch,
    ids: &mut Vec<u32>,
) -> Option<()> {
    let charsmap = charsmap(parameters, packed);
    let cache = (&mut scratch.cache, number);
    let lattice = Lattice::new(pieces(parameters, packed), &mut scratch.nodes, cache);
    scratch.text.clear();
    scratch.text.reserve(text.len() + text.len() / 2 + 16);
    let mut run = Run { parameters, lattice, text: &mut scratch.text, start: 0, fresh: true, spaces: 0, ids };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        // A character of ASCII before another one is a cluster of its own, but for a carriage return.
        let next_is_ascii = bytes.get(at + 1).is_none_or(u8::is_ascii);
        match ascii.get(usize::from(*byte)).filter(|_| next_is_ascii) {
            Some(Ascii::Put(to)) => {
                run.put_byte(*to);
                at += 1;
            }
            Some(Ascii::Space) => {
                run.spaces += 1;
                at += 1;
            }
            _ => at += run.other(charsmap, text.get(at..)?)?,
        }
    }
    run.end();
    Some(())
}

/// Hands on the id and the length in bytes of each token of one normalised word.
pub(super) fn word(parameters: &Parameters, packed: &Packed, word: &str, put: impl FnMut(u32, usize)) {
    let (mut nodes, mut cache) = (Vec::new(), WordCache::default());
    Lattice::new(pieces(parameters, packed), &mut nodes, (&mut cache, 0)).tokens(word.as_bytes(), put);
}

fn pieces<'a>(parameters: &'a Parameters, packed: &'a Packed) -> Pieces<'a> {
    Pieces {
        trie: Trie::new(packed.u32s(TRIE)),
        scores: packed.u64s(SCORES),
        unknown: parameters.unknown,
        unknown_score: f64::from_bits(parameters.unknown_score),
        highest: &parameters.highest,
    }
}

impl Run<'_> {
    /// Handles any character and returns how many bytes of the text were done.
    #[inline(never)]
    fn other(&mut self, charsmap: Option<Charsmap>, rest: &str) -> Option<usize> {
        let mut characters = rest.chars();
        let character = characters.next()?;
        let alone = stands_alone(character) && characters.next().is_none_or(stands_alone);
        let own = rest.get(..character.len_utf8())?;
        let Some(charsmap) = charsmap else {
            self.put_str(own);
            return Some(own.len());
        };
        if !alone {
            return charsmap.cluster(rest, |part| self.put_str(part));
        }
        match charsmap.get(own) {
            Mapped::Same => self.put_str(own),
            Mapped::To(other) => self.put_str(other),
            Mapped::Broken => return None,
        }
        Some(own.len())
    }

    /// Passes normalised text through the later steps.
    fn put_str(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                ' ' => self.spaces += 1,
                _ if self.parameters.runs == Runs::Whitespace && character.is_whitespace() => {
                    self.spaces += 1
                }
                _ if self.parameters.isolated.contains(character) => {
                    self.spaces += 1;
                    self.put_byte(character as u8);
                    self.spaces += 1;
                }
                _ if self.parameters.whitespace && character.is_whitespace() => {
                    self.write_spaces();
                    self.end_word();
                    self.fresh = true;
                }
                '▁' => {
                    self.write_spaces();
                    self.write_meta();
                }
                _ => {
                    self.write_spaces();
                    self.write(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }

    #[inline(always)]
    fn put_byte(&mut self, byte: u8) {
        if self.spaces != 0 {
            self.write_spaces();
        }
        if self.fresh {
            self.text.extend_from_slice(META.as_bytes());
            self.fresh = false;
        }
        self.text.push(byte);
    }

    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        if self.fresh {
            self.text.extend_from_slice(META.as_bytes());
            self.fresh = false;
        }
        self.text.extend_from_slice(bytes);
    }

    fn write_meta(&mut self) {
        if self.parameters.split {
            self.end_word();
        }
        self.text.extend_from_slice(META.as_bytes());
        self.fresh = false;
    }

    /// Writes the spaces that are due before a character.
    #[inline]
    fn write_spaces(&mut self) {
        let mut spaces = std::mem::take(&mut self.spaces);
        if self.parameters.runs != Runs::Kept {
            spaces = spaces.min(1);
        }
        if self.parameters.strip_left && self.text.is_empty() {
            spaces = 0;
        }
        for _ in 0..spaces {
            if self.parameters.whitespace {
                self.end_word();
                self.fresh = true;
            } else {
                self.write_meta();
            }
        }
    }

    fn end_word(&mut self) {
        if let Some(word) = self.text.get(self.start..).filter(|word| !word.is_empty()) {
            self.lattice.segment(word, self.ids);
        }
        self.start = self.text.len();
    }

    fn end(&mut self) {
        if !self.parameters.strip_right {
            self.write_spaces();
        }
        self.end_word();
    }
}
