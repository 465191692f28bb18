//! The table of what BERT's normaliser and pre-tokenizer do to each code point.
//!
//! The table is filled by asking the reference itself, a character at a time. That is exact for every text of
//! covered characters because nothing in the normaliser looks at two characters at once but the canonical ordering
//! of combining marks; marks that take part in it and outlive the stripping of accents are not covered.

use tokenizers::normalizers::{BertNormalizer, NFD};
use tokenizers::{NormalizedString, Normalizer};
use unicode_categories::UnicodeCategories;

use super::reference::guarded;

/// Code points up to here have an entry; those beyond are not covered.
const CODE_POINTS: usize = 0x2_0000;
const BLOCK: usize = 128;
/// A character that the normaliser leaves alone, between the characters it is asked about.
const SEPARATOR: char = '\u{2581}';

/// The action on one code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharAction {
    /// It may depend on its neighbours, or is not known: the reference is to decide.
    Uncovered,
    /// It is removed.
    Drop,
    /// It separates words.
    Space,
    /// It becomes this character, part of a word.
    Word(char),
    /// It becomes this character, a word of its own.
    Alone(char),
    /// It becomes several characters: an offset for [`Characters::several`].
    Several(u32),
}

/// The table: block numbers, blocks of entries, characters of entries with several.
#[derive(Clone, Copy)]
pub(super) struct Characters<'a> {
    index: &'a [u32],
    entries: &'a [u32],
    pool: &'a [u32],
}

impl<'a> Characters<'a> {
    /// Takes little-endian arrays as [`build`] makes them; any numbers are safe.
    pub(super) fn new(index: &'a [u32], entries: &'a [u32], pool: &'a [u32]) -> Self {
        Self { index, entries, pool }
    }

    #[inline]
    pub(super) fn action(self, character: char) -> CharAction {
        let point = character as usize;
        let entry = self.index.get(point / BLOCK).and_then(|block| {
            let start = (u32::from_le(*block) as usize).checked_mul(BLOCK)?;
            self.entries.get(start.checked_add(point % BLOCK)?)
        });
        decode(entry.map_or(0, |entry| u32::from_le(*entry)))
    }

    /// Returns the characters of an entry with several, each with its own action (`Space`, `Word` or `Alone`).
    pub(super) fn several(self, offset: u32) -> impl Iterator<Item = CharAction> + 'a {
        let rest = self.pool.get(offset as usize..).unwrap_or_default();
        let count = rest.first().map_or(0, |count| u32::from_le(*count));
        rest.iter().skip(1).take(count as usize).map(|entry| decode(u32::from_le(*entry)))
    }
}

fn decode(entry: u32) -> CharAction {
    let payload = entry >> 3;
    let character =
        |action: fn(char) -> CharAction| char::from_u32(payload).map_or(CharAction::Uncovered, action);
    match entry & 7 {
        1 => CharAction::Drop,
        2 => CharAction::Space,
        3 => character(CharAction::Word),
        4 => character(CharAction::Alone),
        5 => CharAction::Several(payload),
        _ => CharAction::Uncovered,
    }
}

fn encode(action: CharAction) -> u32 {
    match action {
        CharAction::Uncovered => 0,
        CharAction::Drop => 1,
        CharAction::Space => 2,
        CharAction::Word(character) => 3 | (character as u32) << 3,
        CharAction::Alone(character) => 4 | (character as u32) << 3,
        CharAction::Several(offset) => 5 | offset << 3,
    }
}

/// The arrays of a table (little-endian): index, entries, pool.
pub(super) type Arrays = (Vec<u32>, Vec<u32>, Vec<u32>);

/// Asks the reference about every code point.
pub(super) fn build(normalizer: &BertNormalizer) -> Result<Arrays, String> {
    let strips = normalizer.strip_accents.unwrap_or(normalizer.lowercase);
    let (mut index, mut entries, mut pool) = (Vec::new(), Vec::<u32>::new(), Vec::new());
    for start in (0..CODE_POINTS).step_by(8 * BLOCK) {
        let points: Vec<u32> = (start as u32..(start + 8 * BLOCK) as u32).collect();
        let asked: Vec<char> = points
            .iter()
            .filter_map(|point| char::from_u32(*point))
            .filter(|character| *character != SEPARATOR && worthwhile(*character))
            .collect();
        let answers = normalized(normalizer, asked.iter().map(|character| character.to_string()))?;
        let stable = if strips { stable(&asked, &answers)? } else { vec![true; asked.len()] };
        let mut answers = asked.iter().zip(answers.iter().zip(stable)).peekable();
        let actions = points.iter().map(|point| {
            let answer = answers.next_if(|(asked, _)| **asked as u32 == *point);
            let stable = answer.filter(|(_, (_, stable))| *stable);
            let action = stable.map_or(CharAction::Uncovered, |(_, (answer, _))| action(answer, &mut pool));
            encode(action).to_le()
        });
        let actions: Vec<u32> = actions.collect();
        for block in actions.chunks(BLOCK) {
            let known = entries.chunks(BLOCK).position(|known| known == block);
            let number = known.unwrap_or(entries.len() / BLOCK);
            if known.is_none() {
                entries.extend_from_slice(block);
            }
            index.push((number as u32).to_le());
        }
    }
    Ok((index, entries, pool))
}

/// Returns whether a character is one of those that never are combining marks.
fn known(character: char) -> bool {
    character.is_letter()
        || character.is_number()
        || character.is_punctuation()
        || character.is_symbol()
        || character.is_separator()
        || character.is_other()
}

/// Returns whether a character gets an entry: all of the first plane; beyond it what the class table knows, and
/// emoji, of which it is too old to know many. The rest would only take time.
fn worthwhile(character: char) -> bool {
    let emoji = '\u{1f000}'..='\u{1faff}';
    character < '\u{10000}' || emoji.contains(&character) || character.is_mark() || known(character)
}

/// A mark that the stripping of accents leaves, of combining class 216.
const PROBE: char = '\u{1d165}';
/// All marks of that class.
const PROBES: std::ops::RangeInclusive<char> = '\u{1d165}'..='\u{1d172}';

/// Returns for each character whether its replacement begins and ends with characters that canonical ordering does
/// not move. Letters and the like are not moved, nonspacing marks are removed; the others are tried next to a mark
/// that every other moved one would change places with.
fn stable(asked: &[char], answers: &[String]) -> Result<Vec<bool>, String> {
    let marked = |answer: &str| answer.chars().any(UnicodeCategories::is_mark);
    let doubtful = |at: &usize| {
        let (asked, answer) = (asked.get(*at), answers.get(*at));
        !asked.is_some_and(|character| known(*character) || character.is_mark_nonspacing())
            || answer.is_none_or(|answer| marked(answer))
    };
    let doubts: Vec<usize> = (0..asked.len()).filter(doubtful).collect();
    let doubted = || doubts.iter().filter_map(|at| asked.get(*at));
    let alone = normalized(&NFD, doubted().map(|character| character.to_string()))?;
    let before = normalized(&NFD, doubted().map(|character| format!("{character}{PROBE}")))?;
    let behind = normalized(&NFD, doubted().map(|character| format!("{PROBE}{character}")))?;
    let mut stable = vec![true; asked.len()];
    for (at, (alone, (before, behind))) in doubts.iter().zip(alone.iter().zip(before.iter().zip(&behind))) {
        let unmoved = *before == format!("{alone}{PROBE}") && *behind == format!("{PROBE}{alone}");
        if let Some(stable) = stable.get_mut(*at) {
            *stable = unmoved && !alone.chars().any(|character| PROBES.contains(&character));
        }
    }
    Ok(stable)
}

/// Normalises each text.
fn normalized(
    normalizer: &impl Normalizer,
    asked: impl Iterator<Item = String>,
) -> Result<Vec<String>, String> {
    let mut count = 0;
    let mut text = String::new();
    for asked in asked {
        text.push(SEPARATOR);
        text.push_str(&asked);
        count += 1;
    }
    let mut text = NormalizedString::from(text);
    guarded(|| normalizer.normalize(&mut text).map_err(|fault| fault.to_string()))?;
    let answers: Vec<String> = text.get().split(SEPARATOR).skip(1).map(str::to_owned).collect();
    match answers.len() == count {
        true => Ok(answers),
        false => Err("the normaliser does not leave U+2581 alone".to_owned()),
    }
}

fn action(answer: &str, pool: &mut Vec<u32>) -> CharAction {
    let one = |character: char| match character {
        _ if character.is_whitespace() => CharAction::Space,
        _ if character.is_ascii_punctuation() || character.is_punctuation() => CharAction::Alone(character),
        _ => CharAction::Word(character),
    };
    let characters: Vec<char> = answer.chars().collect();
    match *characters.as_slice() {
        [] => CharAction::Drop,
        [single] => one(single),
        [' ', single, ' '] if !single.is_whitespace() => CharAction::Alone(single),
        ref several => {
            let offset = pool.len() as u32;
            pool.push((several.len() as u32).to_le());
            pool.extend(several.iter().map(|character| encode(one(*character)).to_le()));
            CharAction::Several(offset)
        }
    }
}
