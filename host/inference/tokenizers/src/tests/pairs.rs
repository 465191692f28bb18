//! Tests of pairs of texts.

use serde_json::{Value, json};

use super::super::toys::{Folder, metaspace, unigram, wordpiece};
use super::super::*;
use super::ALL;

/// Returns the tokenizer with another template, opened from its JSON and from its compact form.
fn opened(post_processor: Value) -> (Folder, [Tokenizer; 2]) {
    let folder = Folder::new();
    let mut file: Value = serde_json::from_str(&wordpiece()).unwrap();
    if !post_processor.is_null() {
        file["post_processor"] = post_processor;
    }
    let path = folder.write(&file.to_string());
    let built = Tokenizer::open(&path).unwrap();
    let form = path.with_extension("bin");
    std::fs::write(&form, built.compact_bytes().unwrap()).unwrap();
    let mapped = Tokenizer::open_compact(&form, &path).unwrap();
    (folder, [built, mapped])
}

/// BERT's own template, of the toy's `[CLS]` (2) and `[SEP]` (3).
fn of_bert() -> Value {
    json!({ "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] })
}

fn pair(tokenizer: &Tokenizer, first: &str, second: &str, options: EncodeOptions) -> (Vec<u32>, EncodedPair) {
    let mut ids = vec![7];
    let encoded = tokenizer.encode_pair(first, second, options, &mut ids).unwrap();
    assert_eq!(ids.remove(0), 7, "what was there stays");
    assert_eq!(ids.len(), encoded.encoded.kept);
    (ids, encoded)
}

fn plain(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer.encode(text, ALL, &mut ids).unwrap();
    ids
}

#[test]
fn pair_of_bert_has_two_types() {
    let (_folder, tokenizers) = opened(of_bert());
    for tokenizer in &tokenizers {
        let (a, b) = (plain(tokenizer, "hello world"), plain(tokenizer, "worlds"));
        let (ids, encoded) = pair(tokenizer, "hello world", "worlds", ALL);
        assert_eq!(ids, [&[2], a.as_slice(), &[3], b.as_slice(), &[3]].concat());
        assert_eq!(encoded.second, b.len() + 1);
        assert!(!encoded.encoded.is_cut());
    }
}

#[test]
fn pair_of_roberta_has_one_type() {
    let roberta = json!({ "type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2],
        "trim_offsets": true, "add_prefix_space": false });
    let (_folder, tokenizers) = opened(roberta);
    for tokenizer in &tokenizers {
        let (a, b) = (plain(tokenizer, "hello"), plain(tokenizer, "world"));
        let (ids, encoded) = pair(tokenizer, "hello", "world", ALL);
        assert_eq!(ids, [&[2], a.as_slice(), &[3, 3], b.as_slice(), &[3]].concat());
        assert_eq!(encoded.second, 0);
    }
}

#[test]
fn pairs_longer_text_is_cut_first() {
    let (_folder, [tokenizer, _]) = opened(of_bert());
    let (hello, world) = (plain(&tokenizer, "hello")[0], plain(&tokenizer, "world")[0]);
    let (four, six) = ("hello ".repeat(4), "world ".repeat(6));
    let kept = |first: &str, second: &str, limit, side| {
        let (ids, encoded) = pair(&tokenizer, first, second, EncodeOptions { limit, side, ..ALL });
        let count = |id: u32| ids.iter().filter(|other| **other == id).count();
        assert_eq!(encoded.encoded.count, Some(13));
        (count(hello), count(world), encoded.encoded.is_cut())
    };
    let right = TruncationSide::Right;
    assert_eq!(kept(&four, &six, 13, right), (4, 6, false));
    assert_eq!(kept(&four, &six, 12, right), (4, 5, true));
    assert_eq!(kept(&four, &six, 11, right), (4, 4, true));
    assert_eq!(kept(&four, &six, 10, right), (3, 4, true));
    assert_eq!(kept(&six, &four, 12, right), (4, 5, true), "whichever comes first");
    let (ids, _) = pair(
        &tokenizer,
        "world hello",
        "hello world",
        EncodeOptions { limit: 5, side: TruncationSide::Left, ..ALL },
    );
    assert_eq!(ids, [2, hello, 3, world, 3]);
    let none = EncodeOptions { limit: 2, ..ALL };
    let refused = tokenizer.encode_pair("hello", "world", none, &mut Vec::new());
    assert!(matches!(refused, Err(TokenizeError::Limit { limit: 2, special: 3 })));
}

#[test]
fn template_without_special_tokens_joins_texts() {
    let folder = Folder::new();
    let path = folder.write(&unigram(Value::Null, metaspace(true), json!([])));
    let tokenizer = Tokenizer::open(&path).unwrap();
    let (a, b) = (plain(&tokenizer, "hello"), plain(&tokenizer, "world"));
    let (ids, encoded) = pair(&tokenizer, "hello", "world", ALL);
    assert_eq!((ids, encoded.second), ([a, b].concat(), 0));
}

#[test]
fn types_in_another_order_are_refused() {
    let template = json!({
        "type": "TemplateProcessing",
        "single": [{ "Sequence": { "id": "A", "type_id": 0 } }],
        "pair": [{ "Sequence": { "id": "A", "type_id": 1 } }, { "Sequence": { "id": "B", "type_id": 0 } }],
        "special_tokens": {},
    });
    let (_folder, tokenizers) = opened(template);
    for tokenizer in &tokenizers {
        let refused = tokenizer.encode_pair("hello", "world", ALL, &mut Vec::new());
        assert!(matches!(refused, Err(TokenizeError::Pair)));
    }
}
