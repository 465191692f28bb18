//! `just bench`: what a sandboxed call costs beside native code, the captcha service beside a Node server with
//! `altcha-lib`, and the embedding service beside ONNX Runtime and `model2vec-rs`. Everything is a ratio of two things measured turn by turn in one run, so
//! that a slow or busy machine slows both; figures in other units are there to be read beside them.
//!
//! Servers are processes of their own, and this one is their only client: it shares the machine's cores
//! with them, one thread, on both sides of every ratio.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod load;
mod measures;
mod noop;
mod options;
mod process;
mod report;
mod server;
mod soak;
mod solve;

use std::process::ExitCode;

use measures::{apps, calls, captcha, embedding, http, parsers, start, status, swap, tickets};
use options::{Mode, Options};
use report::Report;

/// As in the host's own binary.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Measure = fn(&Options, &mut Report);

/// Every measure by the name that selects it.
const MEASURES: [(&str, Measure); 19] = [
    ("http", http::measure),
    ("apps", apps::measure),
    ("calls", calls::measure),
    ("parsers", parsers::measure),
    ("captcha", captcha::measure),
    ("start", start::measure),
    ("status", status::measure),
    ("swap", swap::measure),
    ("tickets-accuracy", tickets::accuracy::measure),
    ("tickets-retrieval", tickets::retrieval::measure),
    ("tickets-http", tickets::http::measure),
    ("tickets-answers", tickets::answers::measure),
    ("embedding-engine", embedding::engine::measure),
    ("embedding-http", embedding::http::measure),
    ("embedding-static", embedding::static_models::measure),
    ("embedding-start", embedding::start::measure),
    ("fairness", embedding::fairness::measure),
    ("rerank", embedding::rerank::measure),
    ("peer", embedding::peer::measure),
];

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let options = match Mode::of(std::env::args().skip(1), &MEASURES.map(|(name, _)| name))? {
        Mode::Serve(kind, workers) => {
            server::serve(&kind, workers);
            return Ok(ExitCode::SUCCESS);
        }
        Mode::Soak(time) => return Ok(soak::run(time)),
        Mode::Measure(options) => options,
    };
    let mut report = Report::new(&options)?;
    for (name, measure) in MEASURES {
        if options.selects(name) {
            measure(&options, &mut report);
        }
    }
    report.end(&options)?;
    Ok(ExitCode::SUCCESS)
}
