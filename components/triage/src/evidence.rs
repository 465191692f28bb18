//! Evidence for a category: the most similar labelled example, and the words that the text shares with it.

#[cfg(test)]
mod tests;

use bulkhead_text::tokens::spaced;
use bulkhead_triage_features::{FeatureSettings, Row};

use crate::lists::evidence::STOP_WORDS;

/// Maximum number of words reported.
const MOST_WORDS: usize = 4;
/// Minimum number of letters of a reported word; shorter ones are mostly function words.
const SHORTEST_WORD: usize = 4;
/// Maximum number of characters quoted of an example.
const LONGEST_QUOTE: usize = 80;
/// Features for the comparison of texts.
const FEATURES: FeatureSettings = FeatureSettings::words_and_characters(18);
/// Minimum similarity of an example: two texts of one language share endings and short words anyway.
const LEAST_LIKENESS: f32 = 0.1;

/// Number of examples compared by features; trigrams preselect them.
const COMPARED: usize = 4;
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
    let spaced_examples: Vec<String> = examples.iter().map(|example| spaced(example)).collect();
    let row = FEATURES.row(text);
    let likest = closest(text, &spaced_examples).filter_map(|at| examples.get(at));
    let likest = likest.map(|example| (cosine(&row, &FEATURES.row(example)), example));
    let likest = likest
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS);
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
        let says = lower.chars().count() >= SHORTEST_WORD && !STOP_WORDS.contains(&lower.as_str());
        let is_new = !shared.iter().any(|other| other.to_lowercase() == lower);
        if says && is_new && known.contains(&lower) {
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

/// Returns indices of the few examples that share the most byte trigrams with `text` for their length. Computing the
/// features of all examples would take far longer.
fn closest(text: &str, spaced_examples: &[String]) -> impl Iterator<Item = usize> {
    let mut table = vec![false; 1 << TABLE_BITS];
    for trigram in trigrams(&spaced(text)) {
        if let Some(there) = table.get_mut(trigram) {
            *there = true;
        }
    }
    let shared = |example: &String| {
        let (all, shared) = trigrams(example).fold((0.0_f32, 0.0), |(all, shared), trigram| {
            let there = table.get(trigram).is_some_and(|there| *there);
            (all + 1.0, shared + if there { 1.0 } else { 0.0 })
        });
        shared / all.max(1.0).sqrt()
    };
    let mut order: Vec<(usize, f32)> =
        spaced_examples.iter().map(shared).enumerate().filter(|(_, shared)| *shared > 0.0).collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1));
    order.into_iter().take(COMPARED).map(|(at, _)| at)
}

/// Returns the table index of each trigram of `spaced`, by multiplicative hashing.
fn trigrams(spaced: &str) -> impl Iterator<Item = usize> {
    spaced.as_bytes().windows(3).filter_map(|bytes| {
        let [one, two, three] = *bytes else { return None };
        let key = u32::from_be_bytes([0, one, two, three]);
        Some((key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - TABLE_BITS)) as usize)
    })
}

/// Returns words as written, without those that have digits, which may be personal numbers.
fn written_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().all(char::is_alphabetic))
}

/// Returns the cosine of two rows of length 1.
fn cosine(one: &Row, other: &Row) -> f32 {
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    let mut product = 0.0;
    while let (Some((left, value)), Some((right, with))) = (ones.peek(), others.peek()) {
        let (left, right) = (*left, *right);
        if left == right {
            product += value * with;
        }
        if left <= right {
            ones.next();
        }
        if right <= left {
            others.next();
        }
    }
    product
}
