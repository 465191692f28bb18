//! What is embedded: the texts of the parity tests, in German and English.

use std::{fs, path::Path};

use bulkhead_inference::model::{EmbedOptions, Model};
use serde_json::Value;

/// Words of a text made of a vocabulary.
const WORDS: usize = 10;

/// All of them in an order that mixes kinds and lengths: 1 to 512 tokens of multilingual-e5-small, 35 in the mean.
pub fn mixed() -> Vec<String> {
    // Shares no divisor with the number of texts, which is 559.
    const STRIDE: usize = 7919;
    let texts = all();
    (0..texts.len()).map(|place| texts[place * STRIDE % texts.len()].clone()).collect()
}

/// Those that people write to a town hall, about 80 bytes and 21 tokens each.
pub fn sentences() -> Vec<String> {
    let is_sentence = |text: &String| {
        (40..=140).contains(&text.len()) && text.ends_with(['.', '?']) && !text.contains(char::is_control)
    };
    mixed().into_iter().filter(is_sentence).collect()
}

/// So many texts of 8 to 128 tokens, as many shorter than 32 as longer: 43 in the mean.
pub fn of_lengths(model: &Model, count: usize) -> Vec<String> {
    let sentences = sentences();
    // The golden section spreads lengths evenly without an order.
    let tokens = |place: usize| 8.0 * 16_f64.powf(place as f64 * 0.618_034 % 1.0);
    let texts = (0..count).map(|place| (place, tokens(place) as usize));
    // Some beginnings jump over a number of tokens.
    let text = |(place, tokens)| {
        (tokens..).find_map(|tokens| cut(model, &joined(&sentences, place, tokens), tokens)).unwrap()
    };
    texts.map(text).collect()
}

/// So many texts of exactly so many tokens, special tokens included: parts of sentences.
pub fn of_tokens(model: &Model, tokens: usize, count: usize) -> Vec<String> {
    let sentences = sentences();
    let texts =
        (0..sentences.len()).filter_map(|first| cut(model, &joined(&sentences, first, tokens), tokens));
    let texts: Vec<_> = texts.take(count).collect();
    assert_eq!(texts.len(), count, "texts of {tokens} tokens");
    texts
}

/// Sentences from the one at `first` on, of more than so many tokens.
fn joined(sentences: &[String], first: usize, tokens: usize) -> String {
    // A sentence has eight tokens at least.
    let some = sentences.iter().cycle().skip(first).take(1 + tokens / 8);
    some.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// The shortest beginning of a text that has so many tokens.
fn cut(model: &Model, text: &str, tokens: usize) -> Option<String> {
    let mut beginnings = text.char_indices().skip(1).map(|(end, _)| &text[..end]);
    let has =
        |beginning: &&str| model.tokenize(beginning, &EmbedOptions::default()).unwrap().ids.len() == tokens;
    beginnings.find(has).map(str::to_owned)
}

/// So many texts of words drawn evenly from the whole vocabulary of a model, which few words repeat: the worst
/// case for an engine that remembers words.
pub fn of_vocabulary(folder: &Path, count: usize) -> Vec<String> {
    let tokenizer: Value = serde_json::from_slice(&fs::read(folder.join("tokenizer.json")).unwrap()).unwrap();
    let pieces: Vec<&str> = match &tokenizer["model"]["vocab"] {
        Value::Object(pieces) => pieces.keys().map(String::as_str).collect(),
        Value::Array(pieces) => {
            pieces.iter().filter_map(|piece| piece[0].as_str()?.strip_prefix('\u{2581}')).collect()
        }
        other => panic!("not a vocabulary: {other}"),
    };
    let words: Vec<_> =
        pieces.into_iter().filter(|word| word.len() > 2 && word.chars().all(char::is_alphabetic)).collect();
    // Half of the golden section: neighbours are far from each other in the vocabulary.
    let stride = (words.len() as f64 * 0.309) as usize | 1;
    let text = |index: usize| {
        let words = (0..WORDS).map(|word| words[(index * WORDS + word) * stride % words.len()]);
        words.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(text).collect()
}

fn all() -> Vec<String> {
    serde_json::from_str(include_str!("../../../../data/embedding/texts.json")).unwrap()
}
