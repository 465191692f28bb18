//! Model folders made by hand: a WordPiece vocabulary of fourteen words and a table of four numbers a word.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The vocabulary; a word's id is its place.
pub const WORDS: [&str; 14] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello", "world", "good", "day", "fair", "wind", "port", "##s",
    "ahoy", "mate",
];

/// A static model: word `id` has the vector `[id, scale, -id, 0.5]`.
#[derive(Clone, Debug)]
pub struct ToyModel {
    pub scale: f32,
    /// Of the configuration file; none leaves it out.
    pub normalize: Option<bool>,
    pub prompts: Value,
}

impl Default for ToyModel {
    fn default() -> Self {
        Self { scale: 1.0, normalize: Some(false), prompts: json!({}) }
    }
}

impl ToyModel {
    /// The vector of a text of known words, not scaled.
    pub fn mean(&self, ids: &[usize]) -> [f32; 4] {
        let sum = ids.iter().sum::<usize>() as f32 / ids.len() as f32;
        [sum, self.scale, -sum, 0.5]
    }

    /// Writes the model's folder `name` below `parent`.
    pub fn write(&self, parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
        write("tokenizer.json", tokenizer().to_string());
        let mut config = json!({ "model_type": "model2vec" });
        if let Some(normalize) = self.normalize {
            config["normalize"] = normalize.into();
        }
        write("config.json", config.to_string());
        if self.prompts != json!({}) {
            write("config_sentence_transformers.json", json!({ "prompts": self.prompts }).to_string());
        }
        let rows = (0..WORDS.len()).flat_map(|id| [id as f32, self.scale, -(id as f32), 0.5]);
        std::fs::write(folder.join("model.safetensors"), safetensors("embeddings", &[WORDS.len(), 4], rows))
            .unwrap();
        folder
    }
}

fn tokenizer() -> Value {
    let vocabulary: Map<_, _> =
        WORDS.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true,
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": null, "decoder": null,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}

/// A safetensors file with one f32 tensor: the header's length, the header, the numbers.
fn safetensors(name: &str, shape: &[usize], values: impl Iterator<Item = f32>) -> Vec<u8> {
    let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
    let tensor = json!({ "dtype": "F32", "shape": shape, "data_offsets": [0, bytes.len()] });
    let header = json!({ name: tensor }).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&bytes);
    file
}
