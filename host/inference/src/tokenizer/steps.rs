//! How the work of tokenising grows with the text; `/tokenize` takes 1 MiB, `/embed` what `embedding.body_bytes` allows.

#![allow(clippy::unwrap_used)]

use bulkhead_steps::{Shape, assert_linear, repeated};
use serde_json::json;

use super::toys::{Folder, metaspace, precompiled, unigram, wordpiece};
use super::{EncodeOptions, Tokenizer, TruncationSide};

fn assert_tokenizer(test: &str, definition: &str, units: &[&str]) {
    let folder = Folder::new();
    let tokenizer = Tokenizer::open(&folder.write(definition)).unwrap();
    let inputs: Vec<_> = units.iter().map(|unit| move |bytes: usize| repeated("", unit, "", bytes)).collect();
    let shapes: Vec<Shape<'_, String>> =
        units.iter().zip(&inputs).map(|(unit, input)| (*unit, input as &dyn Fn(usize) -> String)).collect();
    assert_linear(test, 1 << 20, &shapes, |text| {
        let mut ids = Vec::new();
        let options = EncodeOptions { limit: 512, side: TruncationSide::Left, special_tokens: true };
        tokenizer.encode(text, options, &mut ids).map(|encoded| (encoded, ids)).ok()
    });
}

#[test]
fn wordpiece_steps_grow_with_a_text() {
    let units = ["hello ", "a", "[", "[MASK]", "[MAS", "\u{308}", "unbeliev", "中", "\u{20000} "];
    assert_tokenizer(concat!(module_path!(), "::wordpiece_steps_grow_with_a_text"), &wordpiece(), &units);
}

#[test]
fn unigram_steps_grow_with_a_text() {
    let definition = unigram(precompiled(), metaspace(true), json!([]));
    let units = ["hello ", "a", " ", "hellohello", "\u{308}", "😀", "中", "<s>"];
    assert_tokenizer(concat!(module_path!(), "::unigram_steps_grow_with_a_text"), &definition, &units);
}
