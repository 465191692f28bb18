//! Measures a static model, from text to vector on one thread, best of several rounds.
//!
//! `cargo run --release -p bulkhead-inference --example static -- MODEL_FOLDER TEXTS [VECTORS]`
//!
//! `TEXTS` holds a text a line. With `VECTORS` the vectors (normalised as the model wants them, limit of the model)
//! are written there as little-endian f32, to be compared with another implementation's.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bulkhead_inference::folder::ModelFolder;
use bulkhead_inference::static_model::{StaticModel, normalize};
use bulkhead_tokenizers::{EncodeOptions, Tokenizer, TruncationSide};

const ROUNDS: usize = 41;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder, texts, rest @ ..] = arguments.as_slice() else {
        return Err("usage: static MODEL_FOLDER TEXTS [VECTORS]".into());
    };
    let files = ModelFolder::open(folder)?;
    let (model, opening) = time(|| StaticModel::open(folder, Tokenizer::open(&files.tokenizer)?))?;
    println!("open, tokenizer built from tokenizer.json: {opening:?}");
    if let Some(form) = model.tokenizer().compact_bytes() {
        let compact = std::env::temp_dir().join(format!("static-{}.bin", std::process::id()));
        std::fs::write(&compact, form)?;
        let mapped = || StaticModel::open(folder, Tokenizer::open_compact(&compact, &files.tokenizer)?);
        let (_, opening) = time(mapped)?;
        std::fs::remove_file(compact)?;
        println!("open, tokenizer mapped ({} KiB): {opening:?}", form.len() >> 10);
    }
    let texts = std::fs::read_to_string(texts)?;
    let texts: Vec<&str> = texts.lines().collect();
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    println!("{} texts, {} bytes each in the mean", texts.len(), bytes / texts.len().max(1));

    let limit = model.max_length().unwrap_or(usize::MAX);
    let options = EncodeOptions { limit, side: TruncationSide::Right, special_tokens: false };
    let (mut ids, mut vector) = (Vec::new(), vec![0.0; model.dims()]);
    let mut tokens = 0;
    let mut vectors = Vec::new();
    let (mut whole, mut encoding) = (Duration::MAX, Duration::MAX);
    for round in 0..ROUNDS {
        let start = Instant::now();
        for text in &texts {
            ids.clear();
            model.tokenizer().encode(text, options, &mut ids)?;
            tokens += ids.len();
        }
        encoding = encoding.min(start.elapsed());
        let start = Instant::now();
        for text in &texts {
            ids.clear();
            model.tokenizer().encode(text, options, &mut ids)?;
            model.embed(&ids, &mut vector)?;
            if files.normalize.unwrap_or(true) {
                normalize(&mut vector);
            }
            std::hint::black_box(&mut vector);
            if round == 0 && !rest.is_empty() {
                vectors.extend(vector.iter().flat_map(|element| element.to_le_bytes()));
            }
        }
        whole = whole.min(start.elapsed());
    }
    if let [file, ..] = rest {
        std::fs::write(file, vectors)?;
    }
    println!("{:.1} tokens a text", tokens as f64 / (ROUNDS * texts.len()) as f64);
    println!("tokenize:            {:9.0} texts/s", texts.len() as f64 / encoding.as_secs_f64());
    println!("tokenize and embed:  {:9.0} texts/s", texts.len() as f64 / whole.as_secs_f64());
    println!("reference loaded: {}", model.tokenizer().reference_loaded());
    Ok(())
}

fn time<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
    let start = Instant::now();
    run().map(|value| (value, start.elapsed()))
}
