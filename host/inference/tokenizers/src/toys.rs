//! Small tokenizers, written as the files that a model folder holds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod wordpiece;

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine;
use serde_json::{Value, json};

pub(crate) use wordpiece::{added, wordpiece};

/// A throw-away folder.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn write(&self, text: &str) -> PathBuf {
        let path = self.0.path().join("tokenizer.json");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Pieces with scores; several are equally good ways to the same text.
const PIECES: &[(&str, f64)] = &[
    ("<s>", 0.0),
    ("<pad>", 0.0),
    ("</s>", 0.0),
    ("<unk>", 0.0),
    ("▁", -2.0),
    ("▁hello", -3.0),
    ("▁world", -3.5),
    ("hell", -4.0),
    ("o", -2.5),
    ("▁he", -3.0),
    ("llo", -3.0),
    ("l", -3.0),
    ("h", -3.0),
    ("e", -2.0),
    ("lo", -4.5),
    ("▁das", -2.5),
    ("▁Straße", -5.0),
    ("▁Str", -4.0),
    ("aße", -4.0),
    ("n", -2.0),
    ("bahn", -3.5),
    ("▁Über", -4.0),
    ("mut", -3.5),
    ("ä", -3.0),
    ("a", -1.5),
    ("b", -2.0),
    ("ab", -3.5),
    ("ba", -3.5),
    ("aba", -5.0),
    ("c", -3.0),
    ("s", -2.0),
    ("t", -2.0),
    ("r", -2.0),
    ("é", -3.0),
    ("▁a", -2.5),
    ("▁b", -3.0),
    (".", -2.0),
    (",", -2.0),
    ("!", -3.0),
    ("▁.", -2.75),
    ("▁,", -2.75),
    ("1", -3.0),
    ("2", -3.0),
    ("▁1", -3.0),
    ("fi", -4.0),
    ("f", -4.0),
    ("i", -3.0),
    ("TM", -4.0),
    ("中", -4.0),
    ("中国", -6.0),
    ("▁中", -5.0),
    ("가", -4.0),
    ("ガ", -4.0),
    ("<", -5.0),
    (">", -5.0),
    ("▁▁", -3.25),
    ("lo▁w", -3.0),
    ("▁hello▁world", -5.5),
    ("😀", -5.0),
    ("a", -1.75),
    ("#", -6.0),
    ("[", -6.0),
];

/// Returns a Unigram tokenizer with the given normaliser, pre-tokenizer and added tokens.
pub(crate) fn unigram(normalizer: Value, pre_tokenizer: Value, added: Value) -> String {
    json!({
        "version": "1.0",
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}, "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}
        },
        "decoder": metaspace(true),
        "model": {"type": "Unigram", "unk_id": 3, "vocab": PIECES, "byte_fallback": false}
    })
    .to_string()
}

pub(crate) fn metaspace(split: bool) -> Value {
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": split})
}

pub(crate) fn sequence(kind: &str, steps: Vec<Value>) -> Value {
    json!({"type": "Sequence", kind: steps})
}

pub(crate) fn replace(pattern: &str, of: &str, content: &str) -> Value {
    json!({"type": "Replace", "pattern": {pattern: of}, "content": content})
}

/// Returns a small relative of `nmt_nfkc`.
pub(crate) fn precompiled() -> Value {
    let map: BTreeMap<&str, &str> = [
        ("\t", " "),
        ("\n", " "),
        ("\r", " "),
        ("\u{a0}", " "),
        ("\u{3000}", " "),
        ("\u{1}", ""),
        ("\u{200b}", ""),
        ("Ａ", "A"),
        ("ａ", "a"),
        ("ﬁ", "fi"),
        ("½", "1⁄2"),
        ("™", "TM"),
        ("＜", "<"),
        ("²", "2"),
        ("Å", "Å"),
        ("e\u{301}", "é"),
        ("a\u{308}", "ä"),
        ("カ\u{3099}", "ガ"),
        ("\u{1100}\u{1161}", "가"),
        ("㎏", "kg"),
        ("ｶ", "カ"),
        ("\u{2028}", " "),
        ("…", "..."),
        ("\u{ad}", ""),
        ("！", "!"),
        ("\u{344}", "\u{308}\u{301}"),
    ]
    .into();
    json!({"type": "Precompiled", "precompiled_charsmap": base64::engine::general_purpose::STANDARD.encode(charsmap(&map))})
}

/// Lays a map out as SentencePiece does, one block of 256 units for each node's children.
fn charsmap(map: &BTreeMap<&str, &str>) -> Vec<u8> {
    let mut texts = Vec::new();
    let mut units = vec![0u32; 512];
    // prefix -> where its unit is, where its children begin
    let mut nodes: BTreeMap<Vec<u8>, (u32, u32)> = BTreeMap::from([(Vec::new(), (0, 256))]);
    units[0] = 256 << 10;
    for (key, text) in map {
        for end in 1..=key.len() {
            let (prefix, byte) = (&key.as_bytes()[..end - 1], key.as_bytes()[end - 1]);
            let children = nodes[prefix].1;
            let fresh = units.len() as u32;
            nodes.entry(key.as_bytes()[..end].to_vec()).or_insert_with(|| {
                let at = children ^ u32::from(byte);
                units[at as usize] = (at ^ fresh) << 10 | u32::from(byte);
                units.resize(units.len() + 256, 0);
                (at, fresh)
            });
        }
        let (at, children) = nodes[key.as_bytes()];
        units[at as usize] |= 1 << 8;
        units[children as usize] = texts.len() as u32 | 1 << 31;
        texts.extend_from_slice(text.as_bytes());
        texts.push(0);
    }
    let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
    blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    blob.extend(texts);
    blob
}
