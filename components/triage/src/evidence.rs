//! Evidence for a category: the most similar labelled example, and the words that the text shares with it.

#[cfg(test)]
mod tests;

use bulkhead_text::tokens::spaced;

use crate::lists::evidence::STOP_WORDS;

/// Maximum number of words reported.
const MOST_WORDS: usize = 4;
/// Minimum number of letters of a reported word; shorter ones are mostly function words.
const SHORTEST_WORD: usize = 4;
/// Maximum number of characters quoted of an example.
const LONGEST_QUOTE: usize = 80;
/// Minimum similarity of an example: two texts of one language share endings and short words anyway.
const LEAST_LIKENESS: f32 = 0.1;
/// Binary logarithm of the size of the trigram table: many more than the trigrams of a letter.
const TABLE_BITS: u32 = 13;

/// What speaks for a category.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The most similar example, shortened to one line.
    pub example: Option<String>,
    /// Words of the text that are also in that line, in the order of the text.
    pub words: Vec<String>,
}

/// Compares `text` with the labelled `examples` of a category.
pub fn evidence(text: &str, examples: &[String]) -> Evidence {
    let mut table = vec![false; 1 << TABLE_BITS];
    let mut own = 0.0_f32;
    for trigram in trigrams(&spaced(text)) {
        if let Some(there) = table.get_mut(trigram).filter(|there| !**there) {
            *there = true;
            own += 1.0;
        }
    }
    // About the cosine of the two texts' trigrams: those of `text` count once.
    let likeness = |example: &String| {
        let example = spaced(example);
        let (all, shared) = trigrams(&example).fold((0.0_f32, 0.0_f32), |(all, shared), trigram| {
            let there = table.get(trigram).is_some_and(|there| *there);
            (all + 1.0, shared + if there { 1.0 } else { 0.0 })
        });
        shared / (all * own).sqrt()
    };
    let likely = examples.iter().rev().map(|example| (likeness(example), example));
    let likely = likely.filter(|(likeness, _)| *likeness >= LEAST_LIKENESS);
    // The first of several equal ones.
    let likest = likely.max_by(|(one, _), (other, _)| one.total_cmp(other));
    match likest {
        Some((_, example)) => {
            let example = quote(example);
            Evidence { words: shared(text, &example), example: Some(example) }
        }
        None => Evidence::default(),
    }
}

/// Returns the first words of `text` that are also in `example`, without stop words.
fn shared(text: &str, example: &str) -> Vec<String> {
    let known: Vec<String> = written_words(example).map(str::to_lowercase).collect();
    let mut shared: Vec<String> = Vec::new();
    for word in written_words(text) {
        let lower = word.to_lowercase();
        let says = || lower.chars().count() >= SHORTEST_WORD && !STOP_WORDS.contains(&lower.as_str());
        let is_new = || !shared.iter().any(|other| other.to_lowercase() == lower);
        if known.contains(&lower) && says() && is_new() {
            shared.push(word.to_owned());
        }
    }
    shared.truncate(MOST_WORDS);
    shared
}

/// Returns the text on one line, cut between words if it is too long.
fn quote(example: &str) -> String {
    let line = example.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, next)) = line.char_indices().nth(LONGEST_QUOTE) else { return line };
    let cut = line.get(..end).unwrap_or_default();
    let whole = if next == ' ' { cut } else { cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole) };
    format!("{}…", whole.trim_end())
}

/// Returns the table index of each byte trigram of the words of a [`spaced`] text, by multiplicative hashing.
fn trigrams(spaced: &str) -> impl Iterator<Item = usize> {
    let index = |bytes: &[u8]| {
        let [one, two, three] = *bytes else { return None };
        let key = u32::from_be_bytes([0, one, two, three]);
        Some((key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - TABLE_BITS)) as usize)
    };
    spaced.as_bytes().windows(3).filter_map(index)
}

/// Returns words as written, without those that have digits, which may be personal numbers.
fn written_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().all(char::is_alphabetic))
}
