//! A cross-encoder of six layers beside ONNX Runtime.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::{
    encoder::Dtype,
    engine::{Caller, Engine, EngineOptions, Input, Request},
    model::{EmbedOptions, LoadOptions, Model, ModelOutput},
};
use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;
use serde_json::{Value, json};

use super::{onnx, texts, turns};
use crate::{
    options::Options,
    report::{Report, Target},
};

/// The encoder below: six layers of 384.
const MODEL: &str = "all-MiniLM-L6-v2";
const HIDDEN: usize = 384;
const THREADS: [usize; 2] = [1, 2];
const PASSAGES: usize = 20;
/// Of a passage.
const TOKENS: usize = 100;
const QUERY: &str = "Which documents do I need for a new passport?";
/// Longest time that a request may take.
const PATIENCE: Duration = Duration::from_secs(600);

pub fn measure(options: &Options, report: &mut Report) {
    let encoder = pulled(known(MODEL).unwrap());
    let folder = tempfile::tempdir().unwrap();
    write(&encoder, folder.path());
    let loading = LoadOptions { dtype: Dtype::Int8, ..LoadOptions::default() };
    let model = Arc::new(Model::load(folder.path(), &loading).unwrap());
    let passages = texts::of_tokens(&model, TOKENS, PASSAGES);
    let ids = |text: &String| model.tokenize_pair(QUERY, text, &EmbedOptions::default()).unwrap().ids;
    // The graph of ONNX Runtime has one type of tokens.
    let plain = |text: &String| ids(text).into_iter().map(|id| id & !(1 << 31)).collect();
    let batch: Vec<Vec<u32>> = passages.iter().map(plain).collect();
    for threads in THREADS {
        let title =
            format!("rerank {PASSAGES} passages of {TOKENS} tokens, int8, {threads} threads, passages/s");
        report.section(&title, "ONNX", "Bulkhead");
        let engine = Engine::start(EngineOptions { threads, ..EngineOptions::default() }).unwrap();
        let mut onnx = onnx::engine(&encoder, Dtype::Int8, threads);
        onnx.load([&batch]);
        let ours = || assert_eq!(rank(&engine, &model, &passages).len(), PASSAGES);
        let [theirs, ours] = turns(options, PASSAGES, &mut onnx, ours);
        report.best("six layers of 384", &theirs, &ours, Target::AtLeast(2.5));
    }
    report.note("ONNX: onnxruntime from Python, given ids of pairs, padded to the longest; the encoder without a head.");
    report.note("Bulkhead is given texts, and gives scores; the weights of its head are random.");
}

/// The logits of all passages.
fn rank(engine: &Engine, model: &Arc<Model>, passages: &[String]) -> Vec<f32> {
    let query: Arc<str> = QUERY.into();
    let pair = |text: &String| Input::Pair(Arc::clone(&query), text.clone());
    let request = Request {
        texts: passages.iter().map(pair).collect(),
        options: EmbedOptions { output: ModelOutput::Scores, ..EmbedOptions::default() },
        deadline: Instant::now() + PATIENCE,
        caller: Caller::HOST,
    };
    engine.embed(model, request).unwrap().wait().unwrap().vectors
}

/// Writes a cross-encoder: the encoder's weights, and a head in a second file.
fn write(encoder: &Path, folder: &Path) {
    let mut config: Value = serde_json::from_slice(&fs::read(encoder.join("config.json")).unwrap()).unwrap();
    config["architectures"] = json!(["BertForSequenceClassification"]);
    config["id2label"] = json!({ "0": "LABEL_0" });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    fs::copy(encoder.join("tokenizer.json"), folder.join("tokenizer.json")).unwrap();
    fs::copy(encoder.join("model.safetensors"), folder.join("encoder.safetensors")).unwrap();
    let tensors = [
        ("bert.pooler.dense.weight", vec![HIDDEN, HIDDEN]),
        ("bert.pooler.dense.bias", vec![HIDDEN]),
        ("classifier.weight", vec![1, HIDDEN]),
        ("classifier.bias", vec![1]),
    ];
    let (mut header, mut bytes) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in tensors {
        let start = bytes.len();
        // Spread by the golden section between -0.05 and 0.05.
        let value = |at: usize| (at as f32 * 0.618_034).fract() * 0.1 - 0.05;
        bytes.extend((0..shape.iter().product::<usize>()).flat_map(|at| value(at).to_le_bytes()));
        let place = json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, bytes.len()] });
        header.insert(name.to_owned(), place);
    }
    let header = Value::Object(header).to_string();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(folder.join("head.safetensors"), [&length[..], header.as_bytes(), &bytes].concat()).unwrap();
    let map = json!({ "weight_map": {
        "embeddings.word_embeddings.weight": "encoder.safetensors",
        "classifier.weight": "head.safetensors",
    } });
    fs::write(folder.join("model.safetensors.index.json"), map.to_string()).unwrap();
}
