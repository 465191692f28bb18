//! Encodes on demand, by lines of JSON: what is to be done on standard input, what came of it on standard output.

use std::io::BufRead;
use std::time::Instant;

use model2vec_rs::model::StaticModel;
use serde::{Deserialize, Serialize};

use crate::Outcome;

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    /// The texts of each pass.
    Load(Vec<String>),
    /// Passes for so many seconds, one at least.
    Run(f64),
}

#[derive(Serialize)]
struct Done {
    /// Seconds of each pass.
    times: Vec<f64>,
    /// Of the last pass, one after the other.
    vectors: Vec<f32>,
}

/// Answers until standard input ends.
pub fn answer(model: &StaticModel) -> Outcome {
    let mut texts = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let done = match serde_json::from_str(&line?)? {
            Order::Load(new) => {
                texts = new;
                Done { times: Vec::new(), vectors: model.encode_flat(&texts) }
            }
            Order::Run(seconds) => run(model, &texts, seconds),
        };
        println!("{}", serde_json::to_string(&done)?);
    }
    Ok(())
}

fn run(model: &StaticModel, texts: &[String], seconds: f64) -> Done {
    let (started, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || started.elapsed().as_secs_f64() < seconds {
        let pass = Instant::now();
        std::hint::black_box(model.encode_flat(texts));
        times.push(pass.elapsed().as_secs_f64());
    }
    Done { times, vectors: Vec::new() }
}
