//! Tests of reading model folders.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use safetensors::{Dtype, tensor::TensorView};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::progress::Silent;

fn write(folder: &Path, name: &str, text: impl ToString) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text.to_string()).unwrap();
}

fn weights(folder: &Path, name: &str, shape: [usize; 2]) {
    let data = vec![0; shape[0] * shape[1] * 4];
    let tensor = TensorView::new(Dtype::F32, shape.to_vec(), &data).unwrap();
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("model.safetensors"), safetensors::serialize([(name, tensor)], None).unwrap())
        .unwrap();
}

/// Creates a folder with everything an encoder's has.
fn encoder(config: serde_json::Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "config.json", config);
    write(folder.path(), "tokenizer.json", "{}");
    weights(folder.path(), "embeddings.word_embeddings.weight", [3, 4]);
    folder
}

fn bert() -> serde_json::Value {
    json!({ "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 4, "max_position_embeddings": 512 })
}

fn modules(types: &[(&str, &str)]) -> serde_json::Value {
    types
        .iter()
        .map(|(path, kind)| json!({ "path": path, "type": format!("sentence_transformers.models.{kind}") }))
        .collect()
}

fn refusal(folder: &Path) -> String {
    ModelFolder::open(folder).unwrap_err().to_string()
}

#[test]
fn a_sentence_transformers_encoder() {
    let folder = encoder(bert());
    let path = folder.path();
    write(
        path,
        "modules.json",
        modules(&[("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]),
    );
    write(
        path,
        "1_Pooling/config.json",
        json!({ "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false }),
    );
    write(path, "sentence_bert_config.json", json!({ "max_seq_length": 256, "do_lower_case": true }));
    write(
        path,
        "config_sentence_transformers.json",
        json!({ "prompts": { "query": "query: ", "passage": "passage: " }, "default_prompt_name": "query" }),
    );
    let model = ModelFolder::open(path).unwrap();
    assert_eq!(model.family, Family::Encoder(Architecture::Bert));
    assert_eq!(model.pooling, Pooling::Cls);
    assert_eq!(model.normalize, Some(true));
    assert!(model.lower_case);
    assert_eq!(model.max_length, Some(256));
    assert_eq!(model.prompts.by_name["passage"], "passage: ");
    assert_eq!(model.prompts.default_name.as_deref(), Some("query"));
    assert_eq!(model.dims().unwrap(), 4);
    assert_eq!(model.weights, path.join("model.safetensors"));
    assert!(model.provenance.is_none());
    let digest = model.weights_sha256(&mut Silent).unwrap();
    assert_eq!(digest, contents::sha256(&model.weights, &mut Silent).unwrap());
    assert_eq!(digest.len(), 64);
}

#[test]
fn bare_encoder_defaults_pooling_and_limit() {
    let folder = encoder(json!({
        "architectures": ["XLMRobertaModel"], "model_type": "xlm-roberta", "hidden_size": 4,
        "max_position_embeddings": 514, "pad_token_id": 1,
    }));
    write(folder.path(), "tokenizer_config.json", r#"{"model_max_length": 1000000000000000019884624838656}"#);
    let model = ModelFolder::open(folder.path()).unwrap();
    assert_eq!(model.family, Family::Encoder(Architecture::Roberta));
    assert_eq!((model.pooling, model.normalize, model.max_length), (Pooling::Mean, None, Some(512)));
    write(folder.path(), "tokenizer_config.json", r#"{"model_max_length": 128}"#);
    assert_eq!(ModelFolder::open(folder.path()).unwrap().max_length, Some(128));
}

#[test]
fn pooling_modes() {
    let folder = encoder(bert());
    for (config, expected) in [
        (json!({ "pooling_mode_mean_tokens": true }), Ok(Pooling::Mean)),
        (json!({ "pooling_mode_lasttoken": true }), Ok(Pooling::Last)),
        (json!({ "pooling_mode": "cls" }), Ok(Pooling::Cls)),
        (json!({ "pooling_mode_max_tokens": true }), Err("`max_tokens`")),
        (json!({ "pooling_mode_mean_sqrt_len_tokens": true }), Err("`mean_sqrt_len_tokens`")),
        (
            json!({ "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true }),
            Err("`cls_token with mean_tokens`"),
        ),
        (json!({}), Err("no pooling mode")),
        (json!({ "pooling_mode_mean_tokens": true, "include_prompt": false }), Err("include_prompt")),
    ] {
        write(folder.path(), "1_Pooling/config.json", &config);
        match (ModelFolder::open(folder.path()), expected) {
            (Ok(model), Ok(expected)) => assert_eq!(model.pooling, expected),
            (Err(fault), Err(part)) => {
                let text = fault.to_string();
                assert!(text.contains(part) && text.contains("1_Pooling"), "{text}");
            }
            (other, _) => panic!("{config}: {other:?}"),
        }
    }
}

#[test]
fn architectures_that_are_not_served_are_named() {
    for (config, name) in [
        (json!({ "architectures": ["DebertaV2Model"], "model_type": "deberta-v2" }), "`DebertaV2Model`"),
        (
            json!({ "architectures": ["ModernBertForMaskedLM"], "model_type": "modernbert" }),
            "`ModernBertForMaskedLM`",
        ),
        (json!({ "model_type": "qwen3" }), "`qwen3`"),
        (
            json!({ "architectures": ["BertForTokenClassification"], "model_type": "bert" }),
            "`BertForTokenClassification`",
        ),
        (
            json!({ "architectures": ["BertModel"], "model_type": "bert", "auto_map": { "AutoModel": "modeling.OwnBert" } }),
            "`BertModel` of `modeling.OwnBert`",
        ),
        (
            json!({
                "architectures": ["NewForSequenceClassification"], "model_type": "new",
                "auto_map": { "AutoModel": "new-impl--modeling.NewModel" },
            }),
            "`NewForSequenceClassification` of `new-impl--modeling.NewModel`",
        ),
        (
            json!({
                "architectures": ["OwnBert"], "model_type": "bert",
                "auto_map": { "AutoModel": "modeling.OwnBert" },
            }),
            "`modeling.OwnBert`",
        ),
        (json!({ "architectures": ["\u{1b}[31mBert"], "model_type": "bert" }), "`\\u{1b}[31mBert`"),
    ] {
        let folder = encoder(config);
        let fault = ModelFolder::open(folder.path()).unwrap_err();
        assert!(matches!(fault, LoadError::Architecture { .. }), "{fault}");
        assert!(fault.to_string().contains(name) && fault.to_string().contains("config.json"), "{fault}");
    }
    let folder = encoder(json!({}));
    assert!(refusal(folder.path()).contains("no architecture is named"));
}

#[test]
fn modules_that_are_not_served_are_named() {
    let folder = encoder(bert());
    write(folder.path(), "modules.json", modules(&[("", "Transformer"), ("2_LSTM", "LSTM")]));
    let text = refusal(folder.path());
    assert!(text.contains("modules.json") && text.contains("LSTM"), "{text}");
    write(folder.path(), "modules.json", modules(&[("", "Transformer"), ("2_Dense", "Dense")]));
    assert!(refusal(folder.path()).contains("Dense` is served only after the pooling"));
    write(folder.path(), "modules.json", modules(&[("../elsewhere", "Transformer")]));
    assert!(refusal(folder.path()).contains("leads out"));
}

#[test]
fn task_follows_class_and_modules() {
    let classifier = json!({
        "architectures": ["MPNetForSequenceClassification"], "model_type": "mpnet", "hidden_size": 4,
        "max_position_embeddings": 514,
    });
    let model = ModelFolder::open(encoder(classifier).path()).unwrap();
    assert_eq!((model.family, model.task), (Family::Encoder(Architecture::Mpnet), ModelTask::Classify));
    assert_eq!((model.pooling, model.max_length), (Pooling::Cls, Some(512)));
    let sparse = json!({
        "architectures": ["DistilBertForMaskedLM"], "model_type": "distilbert", "dim": 4,
        "max_position_embeddings": 512,
    });
    let folder = encoder(sparse);
    assert_eq!(ModelFolder::open(folder.path()).unwrap().task, ModelTask::Embed);
    write(
        folder.path(),
        "modules.json",
        modules(&[("", "MLMTransformer"), ("1_SpladePooling", "SpladePooling")]),
    );
    let model = ModelFolder::open(folder.path()).unwrap();
    assert_eq!((model.task, model.terms.pooling_strategy.as_str()), (ModelTask::Terms, "max"));
    assert_eq!(model.dims().unwrap(), 4);
    write(folder.path(), "1_SpladePooling/config.json", json!({ "pooling_strategy": "sum" }));
    assert_eq!(ModelFolder::open(folder.path()).unwrap().terms.pooling_strategy, "sum");
}

#[test]
fn dense_layers_give_the_length() {
    let folder = encoder(bert());
    let path = folder.path();
    write(
        path,
        "modules.json",
        modules(&[("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense")]),
    );
    write(path, "1_Pooling/config.json", json!({ "pooling_mode_mean_tokens": true }));
    write(path, "2_Dense/config.json", json!({ "in_features": 4, "out_features": 2 }));
    let model = ModelFolder::open(path).unwrap();
    assert_eq!((model.dims().unwrap(), model.dense.len()), (2, 1));
    assert!(model.dense[0].has_bias && model.dense[0].activation.ends_with("Tanh"));
    write(path, "2_Dense/pytorch_model.bin", "");
    assert!(refusal(path).contains("2_Dense/pytorch_model.bin: pickled weights"));
}

#[test]
fn layouts_of_static_models() {
    let model2vec =
        json!({ "model_type": "model2vec", "architectures": ["StaticModel"], "normalize": false });
    // Everything in one folder.
    let folder = encoder(model2vec.clone());
    weights(folder.path(), "embeddings", [3, 2]);
    let model = ModelFolder::open(folder.path()).unwrap();
    assert_eq!((model.family, model.normalize, model.dims().unwrap()), (Family::Static, Some(false), 2));
    // The configuration under its other name.
    fs::rename(folder.path().join("config.json"), folder.path().join("config_sentence_transformers.json"))
        .unwrap();
    let model = ModelFolder::open(folder.path()).unwrap();
    assert_eq!((model.family, model.normalize), (Family::Static, Some(false)));
    // Nothing but a table tells the family.
    let folder = encoder(json!({ "embedding_dtype": "int8" }));
    weights(folder.path(), "embedding.weight", [3, 5]);
    let model = ModelFolder::open(folder.path()).unwrap();
    assert_eq!((model.family, model.normalize, model.dims().unwrap()), (Family::Static, None, 5));
    // sentence-transformers: table and tokenizer in a folder of their own, opened from above and from within.
    let folder = TempDir::new().unwrap();
    let inner = folder.path().join("0_StaticEmbedding");
    write(folder.path(), "config_sentence_transformers.json", json!({ "prompts": {} }));
    write(
        folder.path(),
        "modules.json",
        modules(&[("0_StaticEmbedding", "StaticEmbedding"), ("1_Normalize", "Normalize")]),
    );
    write(&inner, "tokenizer.json", "{}");
    weights(&inner, "embedding.weight", [3, 6]);
    for path in [folder.path(), &inner] {
        let model = ModelFolder::open(path).unwrap();
        assert_eq!((model.family, model.normalize, model.dims().unwrap()), (Family::Static, Some(true), 6));
        assert_eq!(model.tokenizer, inner.join("tokenizer.json"));
    }
}

#[test]
fn bad_files_are_named() {
    let folder = encoder(bert());
    let path = folder.path();
    for (name, text, part) in [
        ("config_sentence_transformers.json", r#"{"prompts": {"query": 7}}"#, "invalid type"),
        (
            "config_sentence_transformers.json",
            r#"{"default_prompt_name": "query"}"#,
            "not one of the prompts",
        ),
        ("sentence_bert_config.json", r#"{"max_seq_length": 2}"#, "no room for text"),
        ("tokenizer_config.json", "[", "EOF"),
        ("modules.json", "{}", "invalid type"),
        ("bulkhead.json", "{}", "missing field"),
        ("config.json", "not json", "expected"),
    ] {
        let before = fs::read(path.join(name)).ok();
        write(path, name, text);
        let fault = refusal(path);
        assert!(fault.contains(part), "{name}: {fault}");
        assert!(fault.contains(name) || part == "no room for text", "{name}: {fault}");
        match before {
            Some(before) => fs::write(path.join(name), before).unwrap(),
            None => fs::remove_file(path.join(name)).unwrap(),
        }
    }
    ModelFolder::open(path).unwrap();
    write(path, "config.json", " ".repeat(5 << 20));
    assert!(refusal(path).contains("larger than"));
}

#[test]
fn static_model_scaling_follows_the_configuration() {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "tokenizer.json", "{}");
    write(folder.path(), "model.safetensors", "");
    write(folder.path(), "config.json", json!({ "model_type": "model2vec", "normalize": 1 }));
    assert!(refusal(folder.path()).contains("config.json: `normalize` is neither true nor false"));
    write(folder.path(), "config.json", json!({ "model_type": "model2vec", "normalize": null }));
    assert_eq!(ModelFolder::open(folder.path()).unwrap().normalize, None);
}

#[test]
fn folders_without_a_model() {
    let folder = TempDir::new().unwrap();
    assert!(refusal(folder.path()).contains("config.json, tokenizer.json, model.safetensors missing"));
    write(folder.path(), "pytorch_model.bin", "");
    assert!(refusal(folder.path()).contains("convert them in that folder: python -c"));
    write(folder.path(), "model.safetensors.index.json", "");
    assert!(refusal(folder.path()).contains(": config.json, tokenizer.json missing"));
    assert!(refusal(&folder.path().join("none")).contains("none"));
    assert!(refusal(&folder.path().join("pytorch_model.bin")).contains("not a folder"));
}

#[test]
fn provenance_reports_altered_files() {
    let folder = encoder(bert());
    let origin = provenance::ModelOrigin { model_id: "org/name".to_owned(), ..Default::default() };
    ModelProvenance::record(folder.path(), &origin, None, &mut Silent).unwrap();
    let record = ModelFolder::open(folder.path()).unwrap().provenance.unwrap();
    assert_eq!((record.origin.clone(), record.files.len()), (origin, 3));
    assert_eq!(record.difference(folder.path(), &mut Silent), None);
    write(folder.path(), "tokenizer.json", "[]");
    assert!(record.difference(folder.path(), &mut Silent).unwrap().contains("tokenizer.json was altered"));
    write(folder.path(), "tokenizer.json", "[1]");
    assert!(record.difference(folder.path(), &mut Silent).unwrap().contains("has 3 bytes, not 2"));
}
