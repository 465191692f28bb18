//! The embedding service beside ONNX Runtime and `model2vec-rs`, on the same models and texts.

pub mod engine;
pub mod fairness;
pub mod http;
mod onnx;
pub mod peer;
pub mod rerank;
pub mod start;
pub mod static_models;
pub mod texts;

use std::time::Instant;

use crate::{options::Options, process::dialog::Dialog, report::Rates};

/// Passes over the same things on both sides, which take turns: theirs, ours. Both have done one already.
fn turns(options: &Options, things: usize, theirs: &mut Dialog, mut ours: impl FnMut()) -> [Rates; 2] {
    let seconds = options.turn.as_secs_f64();
    let [mut their_rates, mut our_rates] = [Rates::default(), Rates::default()];
    for _ in 0..options.rounds {
        their_rates.push(things, &theirs.run(seconds));
        our_rates.push(things, &passes(seconds, &mut ours));
    }
    [their_rates, our_rates]
}

/// Passes for so many seconds, one at least: the seconds of each.
fn passes(seconds: f64, mut pass: impl FnMut()) -> Vec<f64> {
    let (started, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || started.elapsed().as_secs_f64() < seconds {
        let since = Instant::now();
        pass();
        times.push(since.elapsed().as_secs_f64());
    }
    times
}

/// Asserts that both sides do the same: a mean cosine of `least` between vectors of `dims` numbers.
fn assert_same(what: &str, dims: usize, theirs: &[f32], ours: &[f32], least: f64) {
    assert_eq!(theirs.len(), ours.len(), "{what}");
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let cosine = |(a, b): (&[f32], &[f32])| match dot(a, a) * dot(b, b) {
        // Nothing is known of a text.
        0.0 => 1.0,
        squares => dot(a, b) / squares.sqrt(),
    };
    let cosines: Vec<_> = theirs.chunks_exact(dims).zip(ours.chunks_exact(dims)).map(cosine).collect();
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    assert!(mean >= least, "{what}: not the same vectors, mean cosine {mean:.4}");
}
