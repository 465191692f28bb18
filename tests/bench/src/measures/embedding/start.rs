//! The real binary with one model: how soon it is ready, and what it takes.

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;
use serde_json::json;

use super::texts;
use crate::{
    load::request,
    options::Options,
    process::binary::{Host, send},
    report::{Report, Target},
};

/// Models, and the most resident memory, MiB: 250 MB.
const MODELS: [(&str, Target); 3] = [
    ("multilingual-e5-small", Target::AtMost(238.4)),
    ("potion-base-8M", Target::None),
    ("all-MiniLM-L6-v2", Target::None),
];
const CONNECTIONS: usize = 8;

pub fn measure(options: &Options, report: &mut Report) {
    for (name, most) in MODELS {
        report.section(&format!("the binary with {name}"), "", "Bulkhead");
        let folder = pulled(known(name).unwrap());
        let body = |text: &String| request("POST", "/embed", &json!({ "inputs": [text] }).to_string());
        let requests: Vec<_> = texts::mixed().iter().map(body).collect();
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        let (mut ready, mut used, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            let data = tempfile::tempdir().unwrap();
            let start = || Host::start(data.path(), &["--model", folder.to_str().unwrap()]);
            cold.push(start().millis);
            let host = start();
            warm.push(host.millis);
            ready.push(host.process.memory()[0]);
            send(host.public, CONNECTIONS, &requests);
            let [resident, share] = host.process.memory();
            used.push(resident);
            shares.push(share);
        }
        report.figure("first start to ready, which packs the model, ms", &cold, Target::None);
        report.figure("later start to ready, ms", &warm, Target::None);
        report.figure("resident when ready, MiB", &ready, most);
        report.figure("resident after 559 texts, MiB", &used, most);
        report.figure("    its proportional share", &shares, Target::None);
    }
}
