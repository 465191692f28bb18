//! Writes a small static model, which tests of `bulkhead-sources` describe too.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::TensorView;
use serde_json::json;

/// Words of the toy model; each one's vector is four numbers made of its id.
pub(crate) const WORDS: [&str; 14] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello", "world", "good", "day", "fair", "wind", "port", "##s",
    "boom", "fail",
];

fn row(id: usize) -> [f32; 4] {
    let id = id as f32;
    [id, 1.0, -id, 0.5]
}

pub(crate) fn toy_folder(folder: &Path) {
    write_toy(folder, row);
}

pub(crate) fn write_toy(folder: &Path, row: fn(usize) -> [f32; 4]) {
    let vocabulary: serde_json::Map<_, _> =
        WORDS.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": null, "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary },
    });
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(folder.join("config.json"), r#"{"model_type":"model2vec","normalize":false}"#).unwrap();
    let bytes: Vec<u8> = (0..WORDS.len()).flat_map(row).flat_map(f32::to_le_bytes).collect();
    let table = TensorView::new(safetensors::Dtype::F32, vec![WORDS.len(), 4], &bytes).unwrap();
    let tensors = HashMap::from([("embeddings", table)]);
    safetensors::serialize_to_file(tensors, None, &folder.join("model.safetensors")).unwrap();
}
