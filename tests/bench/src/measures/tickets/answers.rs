//! The import of ten thousand passages, and answers from them through HTTP beside the embedding of the same question.

use std::{fmt::Write as _, fs, process::Command, time::Instant};

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::{models_folder, pulled};
use serde_json::{Value, json};

use super::http::in_turns;
use crate::{
    load::{Timed, request},
    options::Options,
    process::{binary::Host, target, tests},
    report::{Report, Target},
};

const MODEL: &str = "multilingual-e5-small";
const PASSAGES: usize = 10_000;
const QUESTION: &str = "Was kostet ein neuer Reisepass, und wie lange dauert es, bis ich ihn abholen kann?";

pub fn measure(options: &Options, report: &mut Report) {
    report.section(&format!("answers from {PASSAGES} passages, through HTTP"), "embedding", "answer");
    pulled(known(MODEL).unwrap());
    let data = tempfile::tempdir().unwrap();
    let models = models_folder().canonicalize().unwrap();
    std::os::unix::fs::symlink(&models, data.path().join("models")).unwrap();
    let pages = data.path().join("pages.jsonl");
    fs::write(&pages, pages_of(PASSAGES)).unwrap();
    let began = Instant::now();
    let import = Command::new(target().join("release/bulkhead"))
        .args(["kb", "import", "--data-dir"])
        .arg(data.path())
        .arg(&pages)
        .status()
        .unwrap();
    assert!(import.success(), "kb import");
    report.figure(
        "import of the passages with their items, s",
        &[began.elapsed().as_secs_f64()],
        Target::None,
    );
    let rules = tests().join("data/triage/configuration.toml");
    let config = data.path().join("bulkhead.toml");
    fs::write(&config, format!("[tickets]\ntriage = {rules:?}\n")).unwrap();
    let host = Host::start(data.path(), &["--config", config.to_str().unwrap(), "--model", MODEL]);
    let embedding = json!({ "inputs": [QUESTION], "prompt_name": "query" });
    let asked = json!({ "text": QUESTION, "category": "id_documents", "action": "answer" });
    let calls = [
        ([request("POST", "/embed", &embedding.to_string())], "[["),
        ([request("POST", "/api/v1/answer", &asked.to_string())], "\"documents\""),
    ];
    let turns = in_turns(options, &host, &calls, 1);
    let figures = |figure: &dyn Fn(&Timed) -> f64| {
        turns.each_ref().map(|turns| turns.iter().map(figure).collect::<Vec<_>>())
    };
    let [embedding, answer] = figures(&|turn| turn.done.within(50) / 1e3);
    report.added("p50, ms, 1 connection", &embedding, &answer, Target::AtMost(10.0));
    let [embedding, answer] = figures(&Timed::micros);
    report.processor(&embedding, &answer, Target::None);
    report.figure("resident after, MiB", &[host.process.memory()[0]], Target::None);
}

/// The passages of the question set, each as often as it takes, with a street that differs: as many vectors and words as
/// a large town's pages have.
fn pages_of(count: usize) -> String {
    let passages = include_str!("../../../../data/knowledge/passages.jsonl");
    let passages: Vec<Value> = passages.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut pages = String::new();
    for (index, passage) in passages.iter().cycle().take(count).enumerate() {
        let mut page = passage.clone();
        page["id"] = json!(format!("page-{index}"));
        page["text"] = json!(format!("{} (Bürgerbüro {index})", passage["text"].as_str().unwrap()));
        let _ = writeln!(pages, "{page}");
    }
    pages
}
