//! Static models beside `model2vec-rs`, in a process and through HTTP.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bulkhead_inference::{
    engine::{Caller, Engine, EngineOptions, Input, Request},
    model::{EmbedOptions, LoadOptions, Model, Scratch},
};
use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::{TOKENLEARN, pulled};
use serde_json::{Value, json};

use super::{assert_same, texts, turns};
use crate::{
    load::{Done, Load, request},
    options::Options,
    process::{Server, binary::Host, dialog::Dialog, target, tests},
    report::{Report, Target},
};

/// What the registry has of WordPiece.
const WORDPIECE: &str = "potion-base-8M";
/// Texts of a pass; of a request.
const TEXTS: usize = 2048;
const BATCH: usize = 32;
const CONNECTIONS: usize = 8;
/// Longest time that a pass may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn measure(options: &Options, report: &mut Report) {
    let peers = build();
    let wordpiece = pulled(known(WORDPIECE).unwrap());
    report.section("static models in a process, texts/s", "model2vec", "Bulkhead");
    in_process(options, report, &peers, &wordpiece, ("WordPiece", Target::AtLeast(1.0)));
    in_process(options, report, &peers, &pulled(&TOKENLEARN), ("Unigram", Target::AtLeast(5.0)));
    report.note("model2vec-rs 0.4 in a process of its own. Sentences: German and English, about 80 bytes. Vocabulary: ten");
    report.note(
        "words a text drawn evenly from the model's own, which few words repeat. WordPiece: potion-base-8M,",
    );
    report.note("256 dimensions. Unigram: tokenlearn-static-model, 64.");
    through_http(options, report, &peers, &wordpiece);
}

/// The peers' program, built if it is not there.
fn build() -> PathBuf {
    let folder = target().join("peers");
    let manifest = tests().join("peers/Cargo.toml");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]).arg(manifest);
    let status = cargo.arg("--target-dir").arg(&folder).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
    folder.join("release/bulkhead-peers")
}

fn in_process(
    options: &Options,
    report: &mut Report,
    peers: &Path,
    folder: &Path,
    (kind, target): (&str, Target),
) {
    let model = Arc::new(Model::load(folder, &LoadOptions::default()).unwrap());
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let sentences: Vec<_> = texts::sentences().into_iter().cycle().take(TEXTS).collect();
    for (about, texts) in [("sentences", sentences), ("vocabulary", texts::of_vocabulary(folder, TEXTS))] {
        for threads in [1, cores] {
            let mut command = Command::new(peers);
            command.arg("encode").arg(folder).env("RAYON_NUM_THREADS", threads.to_string());
            // Without it texts are spread over threads even where there is one.
            command.env("TOKENIZERS_PARALLELISM", (threads > 1).to_string());
            let mut peer = Dialog::start(&mut command);
            let name = format!("{kind}, {about}, {threads} threads");
            let theirs = peer.load(&texts);
            let engine = Engine::start(EngineOptions { threads, ..EngineOptions::default() }).unwrap();
            let pass = || match threads {
                1 => one_thread(&model, &texts),
                _ => over_threads(&engine, &model, &texts),
            };
            assert_same(&name, model.dims(), &theirs, &pass(), 0.999);
            let [theirs, ours] = turns(options, texts.len(), &mut peer, || drop(pass()));
            report.best(&name, &theirs, &ours, target);
        }
    }
}

fn one_thread(model: &Model, texts: &[String]) -> Vec<f32> {
    let (options, mut scratch) = (EmbedOptions::default(), Scratch::default());
    let mut vectors = vec![0.0; texts.len() * model.dims()];
    for (text, vector) in texts.iter().zip(vectors.chunks_exact_mut(model.dims())) {
        let ids = model.tokenize(text, &options).unwrap().ids;
        model.embed(&ids, &[0, ids.len()], &mut scratch, vector).unwrap();
        model.finish(vector, &options);
    }
    vectors
}

fn over_threads(engine: &Engine, model: &Arc<Model>, texts: &[String]) -> Vec<f32> {
    let deadline = Instant::now() + PATIENCE;
    let request = Request {
        texts: texts.iter().cloned().map(Input::Text).collect(),
        options: EmbedOptions::default(),
        deadline,
        caller: Caller::HOST,
    };
    engine.embed(model, request).unwrap().wait().unwrap().vectors
}

fn through_http(options: &Options, report: &mut Report, peers: &Path, folder: &Path) {
    report.section(&format!("{WORDPIECE} through HTTP, texts/s, {BATCH} a request"), "axum", "Bulkhead");
    let data = tempfile::tempdir().unwrap();
    let host = Host::start(data.path(), &["--model", folder.to_str().unwrap()]);
    let peer = Server::start(Command::new(peers).arg("serve").arg(folder));
    let sentences = texts::sentences();
    let requests = |path, body: fn(&[String]) -> Value| -> Vec<Vec<u8>> {
        sentences.chunks_exact(BATCH).map(|texts| request("POST", path, &body(texts).to_string())).collect()
    };
    let json = requests("/embed", |texts| json!({ "inputs": texts }));
    let base64 = requests("/v1/embeddings", |texts| json!({ "input": texts, "encoding_format": "base64" }));
    let ask = |address, requests, once| {
        let connections = if once { 1 } else { CONNECTIONS };
        Load { address, connections, time: options.turn, requests, once, expected: "[", keep: once }.run()
    };
    let servers = [(peer.address(), peer.process()), (host.public, &host.process)];
    for (name, requests, vectors) in
        [("JSON", &json, of_json as fn(&Done) -> Vec<f32>), ("base64", &base64, of_base64)]
    {
        let [theirs, ours] = servers.map(|(address, _)| vectors(&ask(address, &requests[..1], true)));
        assert_same(name, theirs.len() / BATCH, &theirs, &ours, 0.999);
    }
    let empty = || [[const { Vec::new() }; 2], [const { Vec::new() }; 2]];
    let [mut rates, mut micros] = [empty(), empty()];
    // The first turn warms up and does not count.
    for round in 0..=options.rounds {
        for (form, requests) in [&json, &base64].into_iter().enumerate() {
            for (side, (address, process)) in servers.into_iter().enumerate() {
                let before = process.cpu_seconds();
                let done = ask(address, requests, false);
                let texts = (done.latencies.len() * BATCH) as f64;
                if round > 0 {
                    rates[form][side].push(done.rate() * BATCH as f64);
                    micros[form][side].push((process.cpu_seconds() - before) * 1e6 / texts);
                }
            }
        }
    }
    let ([[their_json, our_json], [their_base64, our_base64]], [json, base64]) = (&rates, &micros);
    report.ratio("JSON", their_json, our_json, Target::AtLeast(2.0));
    report.ratio("    processor us a text", &json[0], &json[1], Target::None);
    report.ratio("base64", their_base64, our_base64, Target::None);
    report.ratio("    processor us a text", &base64[0], &base64[1], Target::None);
    report.ratio("base64 beside JSON", their_json, our_base64, Target::AtLeast(3.0));
    report.note("axum: a minimal server around model2vec-rs 0.4 and serde_json, on the host's allocator. 8 connections.");
}

fn of_json(done: &Done) -> Vec<f32> {
    serde_json::from_slice::<Vec<Vec<f32>>>(&done.bodies[0]).unwrap().concat()
}

fn of_base64(done: &Done) -> Vec<f32> {
    let body: Value = serde_json::from_slice(&done.bodies[0]).unwrap();
    let rows = body["data"].as_array().unwrap().iter();
    let bytes = rows.flat_map(|row| STANDARD.decode(row["embedding"].as_str().unwrap()).unwrap());
    let bytes: Vec<u8> = bytes.collect();
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
