//! Tests of the pipeline with a toy model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;

use bulkhead_inference::model::LoadOptions;
use safetensors::tensor::TensorView;
use serde_json::json;

use super::*;
use crate::training::prototypes::Prototypes;

const WORDS: [&str; 8] = ["[PAD]", "[UNK]", "bin", "waste", "dog", "puppy", "pass", "visa"];

/// Loads a static model in which words of one kind have similar vectors.
fn toy() -> Model {
    let folder = tempfile::tempdir().unwrap();
    let vocabulary: serde_json::Map<_, _> =
        WORDS.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" }, "post_processor": null, "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary },
    });
    std::fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(folder.path().join("config.json"), r#"{"model_type":"model2vec","normalize":false}"#)
        .unwrap();
    let vector =
        |id: usize| (0..4).map(move |at| if at == id / 2 { 1.0 + 0.1 * (id % 2) as f32 } else { 0.1 });
    let bytes: Vec<u8> = (0..WORDS.len()).flat_map(vector).flat_map(f32::to_le_bytes).collect();
    let table = TensorView::new(safetensors::Dtype::F32, vec![WORDS.len(), 4], &bytes).unwrap();
    let tensors = HashMap::from([("embeddings", table)]);
    safetensors::serialize_to_file(tensors, None, &folder.path().join("model.safetensors")).unwrap();
    Model::load(folder.path(), &LoadOptions::default()).unwrap()
}

fn configuration() -> Configuration {
    Configuration::from_json(
        r#"{"categories": [{"name": "none"}, {"name": "waste", "examples": ["bin", "waste bin"]},
            {"name": "dogs", "description": "dog\npuppy"}, {"name": "papers"}],
        "no_category_name": "none", "no_action_name": "clerk",
        "actions": [{"name": "clerk", "description": "", "type": "NoAction"}]}"#,
    )
    .unwrap()
}

fn ticket(text: &str, category: &str) -> Ticket {
    Ticket { text: text.to_owned(), category: category.to_owned(), language: None }
}

/// Returns a pipeline that sees embeddings alone and adds no background.
fn plain<'a>(model: &'a Model, configuration: &'a Configuration) -> Pipeline<'a> {
    Pipeline { model, model_id: "toys/words", prompt: None, features: None, configuration, background: false }
}

#[test]
fn pipeline_trains_a_head_on_tickets() {
    let (model, configuration) = (toy(), configuration());
    let sparse = FeatureSettings::words_only(8);
    for features in [None, Some(sparse)] {
        let pipeline = Pipeline { features, ..plain(&model, &configuration) };
        let tickets = [
            ticket("Hello,\n\npass\n\nKind regards\nbin", "papers"),
            ticket("visa", "papers"),
            ticket("x", "made up"),
        ];
        let trained = pipeline.train(&tickets).unwrap();
        let examples: Vec<(&str, usize)> =
            trained.examples.iter().map(|(label, count)| (label.as_str(), *count)).collect();
        assert_eq!(examples, [("dogs", 2), ("papers", 2), ("waste", 2)]);
        assert_eq!(trained.head.labels().collect::<Vec<_>>(), ["waste", "dogs", "papers"]);
        assert_eq!(trained.head.record().sparse.is_some(), features.is_some());
        assert!(!trained.candidates.is_empty());

        let asked = [
            ticket("waste", "waste"),
            ticket("puppy dog", "dogs"),
            ticket("visa pass", "papers"),
            ticket("?", "none"),
        ];
        let report = pipeline.evaluate(&trained.head, &asked).unwrap();
        assert_eq!((report.tickets, report.outside, report.accuracy), (3, 1, 1.0), "{}", report.text());
    }
}

#[test]
fn descriptions_alone_get_no_background() {
    let (model, configuration) = (toy(), configuration());
    let pipeline = Pipeline { background: true, ..plain(&model, &configuration) };
    let settings = Settings::Prototypes(Prototypes::default());
    let texts = |is_labelled| pipeline.background(&settings, is_labelled, &mut Scratch::new()).unwrap().len();
    assert_eq!(texts(false), 0);
    assert!(texts(true) > 0);
}

#[test]
fn head_for_other_features_is_refused() {
    let (model, configuration) = (toy(), configuration());
    let pipeline = plain(&model, &configuration);
    let head = pipeline.train(&[]).unwrap().head;
    let other = Pipeline { features: Some(FeatureSettings::words_only(8)), ..pipeline };
    let error = other.evaluate(&head, &[ticket("bin", "waste")]).unwrap_err();
    assert!(error.to_string().contains("sparse"), "{error}");
}
