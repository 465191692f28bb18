//! Measures retrieval and fits its relevance: `evaluate MODEL_FOLDER MODEL_ID [DATA_FOLDER]`, where the data folder
//! (default `tests/data/knowledge`) has `passages.jsonl`, `questions-dev.jsonl` and `questions-test.jsonl`. The base
//! is a scratch file, or the one that `KNOWLEDGE_URL` names; `DTYPE=float32` calculates with that.
//!
//! Prints parameters fitted on the development questions, as `src/relevance/parameters.rs` has them, and the figures
//! of both sets with the parameters that are built in, with vectors and by words alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_inference::encoder::Dtype;
use bulkhead_inference::engine::{Caller, Engine, EngineOptions, Request};
use bulkhead_inference::model::{EmbedOptions, LoadOptions, Model};
use bulkhead_knowledge::evaluation::{Run, questions};
use bulkhead_knowledge::{
    Embedder, Embedding, IgnoreProgress, ImportOptions, KnowledgeBase, Mode, Provenance, Query, Source,
    TokenVectors,
};
use futures_util::future::BoxFuture;

/// The default of `tickets.knowledge.floor_percent`.
const FLOOR: f32 = 0.01;
/// A relevance at which answers are counted, too.
const PUBLISHED: f32 = 0.8;

struct Prompted {
    id: String,
    model: Arc<Model>,
    engine: Arc<Engine>,
    prompt: Option<String>,
}

impl Embedder for Prompted {
    fn provenance(&self) -> Provenance {
        let model = self.model.description();
        Provenance {
            model: self.id.clone(),
            weights_sha256: model.weights_sha256.clone(),
            dtype: model.dtype.clone(),
            prompt: self.prompt.clone(),
            dims: model.dims,
            late_interaction: model.late_interaction.clone(),
        }
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<Embedding>, String>> {
        Box::pin(async move {
            let prompt = self.prompt.as_deref().map(Arc::from);
            let options = EmbedOptions { prompt, token_vectors: true, ..EmbedOptions::default() };
            let texts = texts.into_iter().map(Into::into).collect();
            let deadline = Instant::now() + Duration::from_secs(600);
            let request = Request { texts, options, deadline, caller: Caller::HOST };
            let pending = self.engine.embed(&self.model, request).map_err(|error| error.to_string())?;
            let embedded = pending.await.map_err(|error| error.to_string())?;
            let mut tokens = embedded.token_vectors.into_iter();
            let vectors = embedded.vectors.chunks(embedded.dims);
            let embedding = |vector: &[f32]| Embedding {
                vector: vector.to_vec(),
                tokens: tokens.next().map(|own| TokenVectors {
                    vectors: own.vectors,
                    dims: own.dims,
                    importance: own.importance,
                }),
            };
            Ok(vectors.map(embedding).collect())
        })
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, id, data @ ..] = arguments.as_slice() else { panic!("MODEL_FOLDER MODEL_ID [DATA_FOLDER]") };
    let data = PathBuf::from(data.first().map_or("tests/data/knowledge", String::as_str));
    let dtype =
        if std::env::var("DTYPE").is_ok_and(|name| name == "float32") { Dtype::Float32 } else { Dtype::Int8 };
    let options = LoadOptions { dtype, ..LoadOptions::default() };
    let model = Arc::new(Model::load(Path::new(folder), &options).unwrap());
    let engine = Arc::new(Engine::start(EngineOptions::default()).unwrap());
    let prompted = |name: &str| Prompted {
        id: id.clone(),
        prompt: model.description().prompts.get(name).cloned(),
        model: Arc::clone(&model),
        engine: Arc::clone(&engine),
    };
    let scratch = tempfile::tempdir().unwrap();
    let url =
        std::env::var("KNOWLEDGE_URL").unwrap_or(scratch.path().join("kb.sqlite").display().to_string());
    let base = KnowledgeBase::open(&url, Mode::Write).await.unwrap();
    let source = Source::Lines(data.join("passages.jsonl"));
    let report =
        base.import(source, &prompted("passage"), ImportOptions::default(), &IgnoreProgress).await.unwrap();
    println!("{} documents, {} passages", report.documents, report.passages);

    let asker = prompted("query");
    for (name, embedder) in [("vectors and words", Some(&asker as &dyn Embedder)), ("words alone", None)] {
        let ask = async |part: &str| {
            let text = std::fs::read_to_string(data.join(format!("questions-{part}.jsonl"))).unwrap();
            Run::ask(&base, questions(&text).unwrap(), embedder, None).await.unwrap()
        };
        let (development, test) = (ask("dev").await, ask("test").await);
        let (bias, weights) = development.fit(embedder.is_some());
        println!("{name}\n  fitted: bias: {bias:.3}, weights: {weights:.3?}");
        let (weights, least) = development.fit_nearness();
        println!("  fitted: nearness: weights: {weights:.3?}, least: {least:.3}");
        for floor in [FLOOR, PUBLISHED] {
            println!(
                "development: {}test: {}",
                development.evaluate(floor).text(),
                test.evaluate(floor).text()
            );
        }
        for question in development.missed() {
            println!("    missed: {:.100} -> {:?}", question.question.replace('\n', " "), question.answers);
        }
    }
    speed(&base, &asker).await;
}

/// Times searches without the embedding.
async fn speed(base: &KnowledgeBase, asker: &Prompted) {
    let text = "Wie lange dauert es, bis mein neuer Reisepass fertig ist, und was kostet der?".to_owned();
    let embedding = asker.embed(vec![text.clone()]).await.unwrap().remove(0);
    let query = Query { text, embedding: Some(embedding), limit: 5, ..Query::default() };
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        base.search(&query).await.unwrap();
        times.push(began.elapsed());
    }
    times.sort_unstable();
    println!("search: p50 {:?}, p99 {:?} of 200", times[100], times[198]);
}
