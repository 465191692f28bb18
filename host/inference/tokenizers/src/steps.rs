//! Tests of the growth of tokenizing steps with the text; `/tokenize` takes 64 KiB, `/embed` what
//! `embedding.body_bytes` allows.

#![allow(clippy::unwrap_used)]

use bulkhead_steps::assert_linear_text;
use serde_json::json;

use super::toys::{Folder, metaspace, precompiled, unigram, wordpiece};
use super::{EncodeOptions, Tokenizer, TruncationSide};

fn assert_tokenizer<R>(
    test: &str,
    definition: &str,
    units: &[&str],
    bytes: usize,
    read: impl Fn(&Tokenizer, &str) -> R,
) {
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(definition)).unwrap();
    let units: Vec<(&str, &str)> = units.iter().map(|unit| ("", *unit)).collect();
    assert_linear_text(test, bytes, &units, |text| read(&tokenizer, text));
}

/// Measures the ids of a text of 1 MiB, up to a limit.
fn assert_ids(test: &str, definition: &str, units: &[&str]) {
    assert_tokenizer(test, definition, units, 1 << 20, |tokenizer, text| {
        let mut ids = Vec::new();
        let options = EncodeOptions { limit: 512, side: TruncationSide::Left, special_tokens: true };
        tokenizer.encode(text, options, &mut ids).map(|encoded| (encoded, ids)).ok()
    });
}

/// Measures all tokens of a text of 64 KiB with their places.
fn assert_tokens(test: &str, definition: &str, units: &[&str]) {
    assert_tokenizer(test, definition, units, 1 << 16, |tokenizer, text| tokenizer.tokens(text, true).ok());
}

const WORDPIECE: [&str; 9] =
    ["hello ", "a", "[", "[MASK]", "[MAS", "\u{308}", "unbeliev", "中", "\u{20000} "];
const UNIGRAM: [&str; 8] = ["hello ", "a", " ", "hellohello", "\u{308}", "😀", "中", "<s>"];

#[test]
fn wordpiece_steps_grow_with_a_text() {
    assert_ids(concat!(module_path!(), "::wordpiece_steps_grow_with_a_text"), &wordpiece(), &WORDPIECE);
}

#[test]
fn unigram_steps_grow_with_a_text() {
    let definition = unigram(precompiled(), metaspace(true), json!([]));
    assert_ids(concat!(module_path!(), "::unigram_steps_grow_with_a_text"), &definition, &UNIGRAM);
}

#[test]
fn wordpiece_token_steps_grow_with_text() {
    assert_tokens(
        concat!(module_path!(), "::wordpiece_token_steps_grow_with_text"),
        &wordpiece(),
        &WORDPIECE,
    );
}

#[test]
fn unigram_token_steps_grow_with_text() {
    let definition = unigram(precompiled(), metaspace(true), json!([]));
    assert_tokens(concat!(module_path!(), "::unigram_token_steps_grow_with_text"), &definition, &UNIGRAM);
}
