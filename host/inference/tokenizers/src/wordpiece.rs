//! WordPiece behind BERT's normaliser and pre-tokenizer, in compact form.

use tokenizers::normalizers::BertNormalizer;

use super::characters::{self, CharAction, Characters};
use super::definition::{Definition, Vocabulary};
use super::packed::{Packed, u32_bytes};
use super::scratch::Scratch;
use super::trie::{self, Trie};

/// A byte that no text has after cleaning; the continuing pieces are in the same trie behind it.
const CONTINUING: u8 = 1;

/// The parameters of the form that are not in its sections.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Parameters {
    unknown: u32,
    /// Characters of a word; a longer one is unknown as a whole.
    max_chars: usize,
}

/// Numbers of the sections.
const TRIE: usize = 1;
const INDEX: usize = 2;
const ENTRIES: usize = 3;
const POOL: usize = 4;

/// Builds the form, or says what in the definition it does not cover.
pub(super) fn build(definition: &Definition) -> Result<(Parameters, Vec<Vec<u8>>), String> {
    let model = &definition.model;
    let normalizer = match definition.normalizer.get("type").and_then(|kind| kind.as_str()) {
        Some("BertNormalizer") => serde_json::from_value::<BertNormalizer>(definition.normalizer.clone())
            .map_err(|fault| fault.to_string())?,
        other => return Err(format!("normalizer {other:?}")),
    };
    if !normalizer.clean_text {
        return Err("a normaliser that leaves control characters".to_owned());
    }
    if definition.pre_tokenizer.get("type").and_then(|kind| kind.as_str()) != Some("BertPreTokenizer") {
        return Err("pre-tokenizer".to_owned());
    }
    let (Vocabulary::Ids(ids), Some("##"), Some(max_chars)) =
        (&model.vocab, model.continuing_subword_prefix.as_deref(), model.max_input_chars_per_word)
    else {
        return Err("WordPiece parameters".to_owned());
    };
    let unknown = model.unk_token.as_ref().and_then(|token| ids.get(token)).ok_or("unk_token")?;
    // A word never begins with `##`, as punctuation is a word of its own, so a continuing piece has no other use.
    // Pieces with bytes that cleaning removes can never match.
    let unreachable = |piece: &str| piece.is_empty() || piece.bytes().any(|byte| byte <= CONTINUING);
    let mut keys: Vec<(Vec<u8>, u32)> = Vec::with_capacity(ids.len());
    for (piece, id) in ids {
        match piece.strip_prefix("##") {
            Some(rest) if !unreachable(rest) => keys.push(([&[CONTINUING], rest.as_bytes()].concat(), *id)),
            None if !unreachable(piece) => keys.push((piece.as_bytes().to_vec(), *id)),
            _ => {}
        }
    }
    keys.sort_unstable();
    let keys: Vec<(&[u8], u32)> = keys.iter().map(|(key, id)| (key.as_slice(), *id)).collect();
    let units = trie::build(&keys).ok_or("too many pieces")?;
    let (index, entries, pool) = characters::build(&normalizer)?;
    let sections = [units, index, entries, pool].iter().map(|numbers| u32_bytes(numbers)).collect();
    Ok((Parameters { unknown: *unknown, max_chars }, sections))
}

/// Checks a form from a file.
pub(super) fn check(parameters: &Parameters, packed: &Packed, id_bound: u32) -> bool {
    parameters.unknown < id_bound && trie::check(packed.u32s(TRIE), id_bound)
}

/// Actions on ASCII, one array look-up a byte: 0 and 1 are actions, other values are the character it becomes, plus
/// 0x80 where that is a word of its own.
const DROP: u8 = 0;
const SPACE: u8 = 1;
const ALONE: u8 = 0x80;

/// Returns the actions; `None` if some character of ASCII becomes anything but one of them.
pub(super) fn ascii(packed: &Packed) -> Option<[u8; 128]> {
    let characters = characters(packed);
    let mut actions = [DROP; 128];
    for (byte, action) in (0u8..).zip(&mut actions) {
        *action = match characters.action(char::from(byte)) {
            CharAction::Drop => DROP,
            CharAction::Space => SPACE,
            CharAction::Word(to) if to.is_ascii_graphic() => to as u8,
            CharAction::Alone(to) if to.is_ascii_graphic() => to as u8 | ALONE,
            _ => return None,
        };
    }
    Some(actions)
}

fn characters(packed: &Packed) -> Characters<'_> {
    Characters::new(packed.u32s(INDEX), packed.u32s(ENTRIES), packed.u32s(POOL))
}

/// One text on its way to ids.
struct Run<'a> {
    parameters: &'a Parameters,
    trie: Trie<'a>,
    root: u32,
    /// Root of the continuing pieces, if there are any.
    continuing: Option<u32>,
    /// All words so far, one after the other; the last one begins at `start`.
    words: &'a mut Vec<u8>,
    start: usize,
    chars: usize,
    ids: &'a mut Vec<u32>,
}

/// Appends a text's ids and leaves its words, without the space between them, in `scratch.text`; `None` when a
/// character is not covered.
pub(super) fn encode(
    parameters: &Parameters,
    packed: &Packed,
    ascii: &[u8; 128],
    text: &str,
    scratch: &mut Scratch,
    ids: &mut Vec<u32>,
) -> Option<()> {
    let trie = Trie::new(packed.u32s(TRIE));
    let characters = characters(packed);
    scratch.text.clear();
    scratch.text.reserve(text.len());
    let root = trie.root();
    let continuing = trie.child(root, CONTINUING);
    let mut run =
        Run { parameters, trie, root, continuing, words: &mut scratch.text, start: 0, chars: 0, ids };
    for character in text.chars() {
        let action = ascii.get(character as usize).copied();
        match action {
            Some(SPACE) => run.flush(),
            Some(DROP) => {}
            Some(action) if action & ALONE == 0 => {
                run.words.push(action);
                run.chars += 1;
            }
            Some(action) => {
                run.flush();
                run.words.push(action & !ALONE);
                run.chars = 1;
                run.flush();
            }
            None => run.put(characters, characters.action(character))?,
        }
    }
    run.flush();
    Some(())
}

impl Run<'_> {
    #[inline(never)]
    fn put(&mut self, characters: Characters, action: CharAction) -> Option<()> {
        match action {
            CharAction::Uncovered => return None,
            CharAction::Drop => {}
            CharAction::Space => self.flush(),
            CharAction::Word(character) => self.push(character),
            CharAction::Alone(character) => {
                self.flush();
                self.push(character);
                self.flush();
            }
            CharAction::Several(offset) => {
                for action in characters.several(offset) {
                    match action {
                        CharAction::Several(_) => return None,
                        single => self.put(characters, single)?,
                    }
                }
            }
        }
        Some(())
    }

    fn push(&mut self, character: char) {
        self.words.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.chars += 1;
    }

    /// Ends a word.
    #[inline]
    fn flush(&mut self) {
        if self.chars == 0 {
            return;
        }
        let before = self.ids.len();
        if self.chars > self.parameters.max_chars || self.pieces().is_none() {
            self.ids.truncate(before);
            self.ids.push(self.parameters.unknown);
        }
        self.start = self.words.len();
        self.chars = 0;
    }

    /// Takes the longest piece from the front of the word until nothing is left; `None` when none fits.
    #[inline]
    fn pieces(&mut self) -> Option<()> {
        pieces(self.trie, (self.root, self.continuing), self.words.get(self.start..)?, |id, _| {
            self.ids.push(id)
        })
    }
}

/// Hands on each piece's id and length in bytes.
#[inline(always)]
fn pieces(
    trie: Trie,
    (mut root, continuing): (u32, Option<u32>),
    mut word: &[u8],
    mut put: impl FnMut(u32, usize),
) -> Option<()> {
    loop {
        let (mut unit, mut longest) = (root, None);
        for (at, byte) in word.iter().enumerate() {
            let Some(child) = trie.child(unit, *byte) else { break };
            unit = child;
            if Trie::ends(unit) {
                longest = Some((unit, at + 1));
            }
        }
        let (unit, len) = longest?;
        put(trie.value(unit)?, len);
        word = word.get(len..)?;
        if word.is_empty() {
            return Some(());
        }
        root = continuing?;
    }
}

/// Hands on the id and the length in bytes of each piece of one normalised word.
pub(super) fn word(parameters: &Parameters, packed: &Packed, word: &str, mut put: impl FnMut(u32, usize)) {
    let trie = Trie::new(packed.u32s(TRIE));
    let roots = (trie.root(), trie.child(trie.root(), CONTINUING));
    let mut found = Vec::new();
    let fits = word.chars().count() <= parameters.max_chars
        && pieces(trie, roots, word.as_bytes(), |id, len| found.push((id, len))).is_some();
    match fits {
        true => found.into_iter().for_each(|(id, len)| put(id, len)),
        false => put(parameters.unknown, word.len()),
    }
}

impl Parameters {
    pub(super) fn is_unknown(&self, id: u32) -> bool {
        self.unknown == id
    }
}
