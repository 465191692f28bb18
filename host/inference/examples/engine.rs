//! Measures the engine against the bare encoder: `engine FOLDER [cache=FOLDER] [seconds=60]`.
//!
//! For requests of several texts and lengths: texts a second, best and median, of the bare encoder on one thread and
//! on two that each embed all texts, and of engines of one and of two threads that are given one request after the
//! other, with their ratio to the bare encoder on as many threads. All take turns, so that they have the same
//! neighbours. The last column is the share of tokenizing in an engine's time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_inference::engine::{Caller, Engine, EngineOptions, Input, Request};
use bulkhead_inference::model::{EmbedOptions, LoadOptions, Model, Scratch};

const THREADS: [usize; 2] = [1, 2];
const BATCHES: [usize; 3] = [1, 8, 32];
const LENGTHS: [usize; 2] = [14, 128];

struct Case {
    texts: Vec<String>,
    ids: Vec<u32>,
    offsets: Vec<usize>,
    /// Seconds of each turn of the bare encoder, by number of threads.
    bare: [Vec<f64>; THREADS.len()],
    /// The same of engines.
    engine: [Vec<f64>; THREADS.len()],
    /// Seconds of tokenizing.
    tokenizing: Vec<f64>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a model folder");
    let (mut options, mut seconds) = (LoadOptions::default(), 60);
    for argument in arguments {
        match argument.split_once('=').expect("name=value") {
            ("cache", folder) => options.cache = Some(folder.into()),
            ("seconds", value) => seconds = value.parse().expect("a number"),
            _ => panic!("unknown argument {argument}"),
        }
    }
    let model = Arc::new(Model::load(Path::new(&folder), &options).expect("a model"));
    let lengths = LENGTHS.into_iter();
    let mut cases: Vec<_> =
        lengths.flat_map(|length| BATCHES.map(|batch| case(&model, length, batch))).collect();
    let engines = THREADS.map(|threads| {
        Engine::start(EngineOptions { threads, ..EngineOptions::default() }).expect("threads")
    });
    let mut scratch = THREADS.map(|_| Scratch::default());
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        for case in &mut cases {
            let Case { texts, ids, offsets, bare, engine, tokenizing } = case;
            for (threads, times) in THREADS.iter().zip(bare) {
                let turn = Instant::now();
                std::thread::scope(|scope| {
                    for scratch in scratch.iter_mut().take(*threads) {
                        scope.spawn(|| {
                            let mut out = vec![0.0; texts.len() * model.dims()];
                            model.embed(ids, offsets, scratch, &mut out).expect("vectors");
                        });
                    }
                });
                times.push(turn.elapsed().as_secs_f64() / *threads as f64);
            }
            for (engine, times) in engines.iter().zip(engine) {
                let deadline = Instant::now() + Duration::from_secs(60);
                let request = Request {
                    texts: texts.iter().cloned().map(Input::Text).collect(),
                    options: EmbedOptions::default(),
                    deadline,
                    caller: Caller::HOST,
                };
                let turn = Instant::now();
                let embedded = engine.embed(&model, request).expect("room").wait().expect("vectors");
                times.push(turn.elapsed().as_secs_f64());
                tokenizing.push(embedded.tokenizing.as_secs_f64());
            }
        }
    }
    println!("tokens texts");
    for case in &mut cases {
        let texts = case.texts.len() as f64;
        print!("{:>6} {texts:>5}", case.ids.len() / case.texts.len());
        for ((threads, bare), engine) in THREADS.iter().zip(&mut case.bare).zip(&mut case.engine) {
            let (bare, engine) = (best_and_median(bare), best_and_median(engine));
            let speed = |(best, median)| format!("{:>5.0} {:>5.0}", texts / best, texts / median);
            let (best, median) = (bare.0 / engine.0, bare.1 / engine.1);
            print!(
                " | {threads} threads: bare {} engine {} ratio {best:.2} {median:.2}",
                speed(bare),
                speed(engine)
            );
        }
        let (tokenizing, engine) =
            (best_and_median(&mut case.tokenizing), best_and_median(&mut case.engine[0]));
        println!(" | {:.3}", tokenizing.1 / engine.1);
    }
}

fn best_and_median(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

/// Returns `batch` texts of `tokens` tokens each.
fn case(model: &Model, tokens: usize, batch: usize) -> Case {
    const WORDS: [&str; 10] =
        ["die", "Stadt", "the", "office", "opens", "am", "Montag", "for", "passports", "heute"];
    let (mut texts, mut ids, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    for salt in 0..batch {
        let mut text = String::new();
        let mut words = WORDS.iter().cycle().skip(salt);
        let tokenized = loop {
            let tokenized = model.tokenize(&text, &EmbedOptions::default()).expect("tokens");
            if tokenized.ids.len() >= tokens {
                break tokenized;
            }
            text += words.next().expect("endless");
            text += " ";
        };
        texts.push(text);
        ids.extend(tokenized.ids);
        offsets.push(ids.len());
    }
    Case { texts, ids, offsets, bare: Default::default(), engine: Default::default(), tokenizing: Vec::new() }
}
