//! An encoder in a process beside ONNX Runtime.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead_inference::{
    encoder::{Dtype, Encoder, EncoderOptions},
    engine::{Caller, Engine, EngineOptions, Input, Request},
    kernels::{Kernel, peak},
    model::{EmbedOptions, LoadOptions, Model},
};
use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;

use super::{assert_same, onnx, texts, turns};
use crate::{
    options::Options,
    report::{Rates, Report, Target},
};

/// The model that is served without any configuration.
const MODEL: &str = "multilingual-e5-small";
const THREADS: [usize; 2] = [1, 2];
const TOKENS: [usize; 2] = [12, 128];
const BATCHES: [usize; 3] = [1, 8, 32];
/// Texts of mixed lengths, in batches of the largest size.
const MIXED: usize = 128;
/// Longest time that a batch may take.
const PATIENCE: Duration = Duration::from_secs(600);

pub fn measure(options: &Options, report: &mut Report) {
    let folder = pulled(known(MODEL).unwrap());
    let cache = tempfile::tempdir().unwrap();
    for dtype in [Dtype::Int8, Dtype::Float32] {
        let loading = LoadOptions { dtype, cache: Some(cache.path().into()), ..LoadOptions::default() };
        let model = Arc::new(Model::load(&folder, &loading).unwrap());
        let cases = cases(&model, dtype);
        let loading = EncoderOptions { dtype, cache: loading.cache, kernel: None };
        let encoder = Encoder::open(&folder, &loading).unwrap();
        for threads in THREADS {
            let title = format!("{MODEL} in a process, {}, {threads} threads, texts/s", dtype.name());
            report.section(&title, "ONNX", "Bulkhead");
            let rates = beside_onnx(options, report, &model, &folder, dtype, threads, &cases);
            shares(report, &encoder, threads, &cases, &rates);
        }
    }
    report.note("ONNX: onnxruntime from Python, given ids; int8 is its own dynamic quantisation, by channel. Bulkhead is");
    report.note("given texts. 2 threads share each batch on both sides. Mixed: 128 texts of 8 to 128 tokens, 43 in the");
    report.note("mean, 32 a batch. Best: the best pass of each side, and their ratio.");
}

/// The passes of a case.
struct Case {
    name: String,
    /// Tokens of each text, where it is the same for all.
    tokens: Option<usize>,
    batches: Vec<Vec<String>>,
    /// What ONNX Runtime is given: ids, perhaps in another order.
    ids: Vec<Vec<Vec<u32>>>,
    sorted: bool,
    target: Target,
}

fn cases(model: &Model, dtype: Dtype) -> Vec<Case> {
    let target = |int8| Target::AtLeast(if dtype == Dtype::Int8 { int8 } else { 1.0 });
    let ids = |texts: &[String]| -> Vec<Vec<u32>> {
        texts.iter().map(|text| model.tokenize(text, &EmbedOptions::default()).unwrap().ids).collect()
    };
    let mut cases = Vec::new();
    for tokens in TOKENS {
        let target = target(if tokens == 12 { 2.0 } else { 1.6 });
        for batch in BATCHES {
            let texts = texts::of_tokens(model, tokens, batch);
            let name = format!("{tokens} tokens, batch {batch}");
            let ids = vec![ids(&texts)];
            cases.push(Case { name, tokens: Some(tokens), batches: vec![texts], ids, sorted: false, target });
        }
    }
    let most = BATCHES.into_iter().max().unwrap();
    let texts = texts::of_lengths(model, MIXED);
    let mut all = ids(&texts);
    let chunks = |ids: &[Vec<u32>]| ids.chunks(most).map(<[_]>::to_vec).collect::<Vec<_>>();
    for (name, sorted) in [("mixed lengths as they come", false), ("mixed lengths, sorted for ONNX", true)] {
        if sorted {
            all.sort_by_key(Vec::len);
        }
        let batches = texts.chunks(most).map(<[_]>::to_vec).collect();
        let target = if sorted { Target::None } else { target(6.0) };
        cases.push(Case { name: name.into(), tokens: None, batches, ids: chunks(&all), sorted, target });
    }
    cases
}

/// Our rates of each case.
fn beside_onnx(
    options: &Options,
    report: &mut Report,
    model: &Arc<Model>,
    folder: &Path,
    dtype: Dtype,
    threads: usize,
    cases: &[Case],
) -> Vec<Rates> {
    // Eight bits differ on both sides, and those of ONNX Runtime with the texts of a batch.
    let least = if dtype == Dtype::Int8 { 0.95 } else { 0.9999 };
    let engine = Engine::start(EngineOptions { threads, ..EngineOptions::default() }).unwrap();
    let mut onnx = onnx::engine(folder, dtype, threads);
    let mut all = Vec::new();
    for case in cases {
        let vectors = onnx.load(&case.ids);
        if !case.sorted {
            assert_same(&case.name, model.dims(), &vectors, &embed(&engine, model, &case.batches), least);
        }
        let count = case.batches.iter().map(Vec::len).sum();
        let ours = || drop(embed(&engine, model, &case.batches));
        let [theirs, ours] = turns(options, count, &mut onnx, ours);
        report.best(&case.name, &theirs, &ours, case.target);
        all.push(ours);
    }
    all
}

/// A pass: one batch after the other.
fn embed(engine: &Engine, model: &Arc<Model>, batches: &[Vec<String>]) -> Vec<f32> {
    let mut vectors = Vec::new();
    for texts in batches {
        let deadline = Instant::now() + PATIENCE;
        let request = Request {
            texts: texts.iter().cloned().map(Input::Text).collect(),
            options: EmbedOptions::default(),
            deadline,
            caller: Caller::HOST,
        };
        vectors.extend(engine.embed(model, request).unwrap().wait().unwrap().vectors);
    }
    vectors
}

/// Shares of the machine's peak, by the best pass.
fn shares(report: &mut Report, encoder: &Encoder, threads: usize, cases: &[Case], rates: &[Rates]) {
    let (peak, targets): (fn(Kernel) -> Option<f64>, _) = match encoder.dtype() {
        Dtype::Int8 => (peak::int8, [Target::AtLeast(55.0), Target::AtLeast(45.0)]),
        Dtype::Float32 => (peak::float32, [Target::None; 2]),
    };
    // Billions of operations a second.
    let done = TOKENS.map(|tokens| {
        let same = cases.iter().zip(rates).filter(|(case, _)| case.tokens == Some(tokens));
        let best = same.map(|(_, rates)| rates.best).fold(0.0, f64::max);
        best * encoder.work(tokens) as f64 / 1e9
    });
    for kernel in Kernel::available() {
        let Some(peak) = peak(kernel).map(|peak| peak * threads as f64) else { continue };
        let shares = done.map(|done| done / peak * 100.0);
        if kernel == encoder.kernel() {
            for ((tokens, share), target) in TOKENS.into_iter().zip(shares).zip(targets) {
                let name = format!("% of the peak of {kernel}, {tokens} tokens");
                report.figure(&name, &[share], target);
            }
        } else {
            let [short, long] = shares;
            report.note(format_args!("that is {short:.0} and {long:.0} % of {kernel}, {peak:.0} billion/s"));
        }
    }
}
