//! Tiny models of each architecture give the values of the reference library (`golden/make.py`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_inference::encoder::Dtype;
use bulkhead_inference::engine::{Caller, Embedded, Engine, EngineOptions, Input, Request};
use bulkhead_inference::model::{EmbedOptions, LoadOptions, Model, ModelOutput, ModelTask};
use serde_json::Value;

/// The greatest difference of a value in f32, relative to those above 1.
const CLOSE: f32 = 1e-4;
/// The least cosine in eight bits, over the values of all cases of a model.
const ALIKE: f64 = 0.99;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A text or a pair, the ids of its tokens and what the reference makes of it.
struct Case {
    input: Input,
    ids: Vec<u32>,
    values: Vec<f32>,
}

fn cases(name: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join("golden.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let list = golden["models"][name].as_array().unwrap().iter();
    list.map(|case| Case {
        input: match &case["text"] {
            Value::String(text) => Input::Text(text.clone()),
            pair => Input::Pair(pair[0].as_str().unwrap().into(), pair[1].as_str().unwrap().to_owned()),
        },
        ids: serde_json::from_value(case["ids"].clone()).unwrap(),
        values: serde_json::from_value(case["values"].clone()).unwrap(),
    })
    .collect()
}

fn run(engine: &Engine, model: &Arc<Model>, texts: Vec<Input>) -> Embedded {
    let output = match model.task() {
        ModelTask::Embed => ModelOutput::Vector,
        ModelTask::Classify => ModelOutput::Scores,
        ModelTask::Terms => ModelOutput::Terms,
    };
    let options = EmbedOptions { output, ..EmbedOptions::default() };
    let deadline = Instant::now() + Duration::from_secs(60);
    let request = Request { texts, options, deadline, caller: Caller::HOST };
    engine.embed(model, request).unwrap().wait().unwrap()
}

/// Returns the values of each text in the form of the reference.
fn values(embedded: &Embedded, terms: usize) -> Vec<Vec<f32>> {
    if embedded.token_vectors.is_empty() {
        return embedded.vectors.chunks(embedded.dims).map(<[f32]>::to_vec).collect();
    }
    let dense = |text: &bulkhead_inference::late_interaction::TokenVectors| {
        let mut row = vec![0.0; terms];
        for term in &text.terms {
            row[term.id as usize] = term.weight;
        }
        row
    };
    embedded.token_vectors.iter().map(dense).collect()
}

/// Compares a model with the reference, in batches and one by one, which several threads share.
fn agrees(name: &str, task: ModelTask) {
    let cases = cases(name);
    assert!(cases.len() > 3);
    let engine = Engine::start(EngineOptions { threads: 2, ..EngineOptions::default() }).unwrap();
    let wanted: Vec<&Vec<f32>> = cases.iter().map(|case| &case.values).collect();
    for dtype in [Dtype::Float32, Dtype::Int8] {
        let options = LoadOptions { dtype, ..LoadOptions::default() };
        let model = Arc::new(Model::load(&folder().join(name), &options).unwrap());
        assert_eq!(model.task(), task);
        let inputs = || cases.iter().map(|case| case.input.clone());
        let together = values(&run(&engine, &model, inputs().collect()), wanted[0].len());
        let alone: Vec<Vec<f32>> =
            inputs().flat_map(|input| values(&run(&engine, &model, vec![input]), wanted[0].len())).collect();
        assert_eq!(together, alone, "{name} {dtype:?}");
        match dtype {
            Dtype::Float32 => {
                for (text, (found, wanted)) in together.iter().zip(&wanted).enumerate() {
                    assert_eq!(found.len(), wanted.len(), "{name} {text}");
                    for (at, (found, wanted)) in found.iter().zip(*wanted).enumerate() {
                        let far = (found - wanted).abs() / wanted.abs().max(1.0);
                        assert!(far <= CLOSE, "{name} text {text} value {at}: {found}, not {wanted}");
                    }
                }
            }
            Dtype::Int8 => {
                let pairs = || together.iter().flatten().zip(wanted.iter().copied().flatten());
                let sum = |product: fn(f32, f32) -> f32| -> f64 {
                    pairs().map(|(found, wanted)| f64::from(product(*found, *wanted))).sum()
                };
                let cosine = sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt();
                assert!(cosine >= ALIKE, "{name}: cosine {cosine}");
            }
        }
    }
}

#[test]
fn tokens_are_those_of_the_reference() {
    for name in ["xlm-roberta", "bert-cross", "roberta-classes"] {
        let model = Model::load(&folder().join(name), &LoadOptions::default()).unwrap();
        let options = EmbedOptions::default();
        for case in cases(name) {
            let ids = match &case.input {
                Input::Text(text) => model.tokenize(text, &options).unwrap().ids,
                Input::Pair(first, second) => model.tokenize_pair(first, second, &options).unwrap().ids,
                Input::Ids(_) => panic!("{name}"),
            };
            // The mark of a second text is not a part of the id.
            let ids: Vec<u32> = ids.into_iter().map(|id| id & !(1 << 31)).collect();
            assert_eq!(ids, case.ids, "{name}");
        }
    }
}

#[test]
fn encoders_agree_with_the_reference() {
    for name in ["xlm-roberta", "mpnet", "distilbert-dense", "modernbert", "nomic-bert", "gte"] {
        agrees(name, ModelTask::Embed);
    }
}

#[test]
fn classifiers_agree_with_the_reference() {
    for name in ["bert-cross", "roberta-classes", "mpnet-cross", "distilbert-labels"] {
        agrees(name, ModelTask::Classify);
    }
    let model = Model::load(&folder().join("roberta-classes"), &LoadOptions::default()).unwrap();
    assert_eq!(model.classifier().unwrap().labels(), ["sad", "fair", "happy"]);
    assert_eq!(model.dims(), 3);
}

#[test]
fn weights_of_terms_agree_with_the_reference() {
    for name in ["bert-splade", "distilbert-splade", "roberta-splade"] {
        agrees(name, ModelTask::Terms);
    }
}
