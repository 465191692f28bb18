//! Measures how fast a model is on this machine.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_cli::output;
use bulkhead_inference::{
    engine::{Caller, Engine, EngineOptions, Input, Request},
    model::{EmbedOptions, Model},
};

/// Time that each line measures.
const MEASURE_TIME: Duration = Duration::from_secs(2);
/// Time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Words of a text.
const LENGTHS: [usize; 3] = [10, 50, 120];
/// Texts of a request.
const BATCHES: [usize; 3] = [1, 8, 32];

/// Makes a text of this many words, each of a token or two in the usual vocabularies.
fn text(words: usize, salt: usize) -> String {
    const WORDS: [&str; 12] = [
        "the",
        "city",
        "opens",
        "its",
        "office",
        "for",
        "passports",
        "on",
        "Monday",
        "morning",
        "at",
        "nine",
    ];
    WORDS.iter().cycle().skip(salt % WORDS.len()).take(words).copied().collect::<Vec<_>>().join(" ")
}

/// Prints texts and tokens a second by length and batch, with one request at a time.
pub(super) fn run(model: Model, threads: usize) -> anyhow::Result<()> {
    let (about, model) = (model.description().clone(), Arc::new(model));
    let engine = Engine::start(EngineOptions { threads, ..EngineOptions::default() })?;
    output::line(format_args!("{} dimensions, {}, {} threads", about.dims, about.dtype, engine.threads()))?;
    output::line(format_args!("{:>8} {:>8} {:>12} {:>12}", "words", "batch", "texts/s", "tokens/s"))?;
    for words in LENGTHS {
        for batch in BATCHES {
            let texts: Vec<String> = (0..batch).map(|salt| text(words, salt)).collect();
            let (mut tokens, mut count) = (0, 0);
            let since = Instant::now();
            while since.elapsed() < MEASURE_TIME {
                let deadline = Instant::now() + TIMEOUT;
                let request = Request {
                    texts: texts.iter().cloned().map(Input::Text).collect(),
                    options: EmbedOptions::default(),
                    deadline,
                    caller: Caller::HOST,
                };
                tokens += engine.embed(&model, request)?.wait()?.tokens;
                count += batch;
            }
            let seconds = since.elapsed().as_secs_f64();
            let (texts, tokens) = (count as f64 / seconds, tokens as f64 / seconds);
            output::line(format_args!("{words:>8} {batch:>8} {texts:>12.0} {tokens:>12.0}"))?;
        }
    }
    Ok(())
}
