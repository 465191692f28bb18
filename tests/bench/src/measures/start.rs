//! The real binary: how soon it is ready, what it takes, how large it is.

use std::fs;

use serde_json::json;

use crate::{
    load::request,
    options::Options,
    process::{
        binary::{Host, send},
        target,
    },
    report::{Report, Target},
};

/// Resident memory without models, MiB.
const MEMORY: Target = Target::AtMost(60.0);
/// Times without compiled code and with it, ms.
const LISTENING: Target = Target::AtMost(300.0);
const COLD: Target = Target::AtMost(3000.0);
const WARM: Target = Target::AtMost(150.0);

pub fn measure(options: &Options, report: &mut Report) {
    report.section("the binary, its captcha service with the demonstration site", "", "Bulkhead");
    let (mut listening, mut cold, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    let mut memory = Vec::new();
    for _ in 0..options.rounds {
        let folder = tempfile::tempdir().unwrap();
        let start = || Host::start(folder.path(), &["--demo"]);
        let first = start();
        listening.push(first.listening_millis);
        cold.push(first.millis);
        drop(first);
        let host = start();
        warm.push(host.millis);
        memory.push(self::memory(&host));
    }
    report.figure("first start to listening, ms", &listening, LISTENING);
    report.figure("first start to ready, ms", &cold, COLD);
    report.figure("later start to ready, compiled code cached, ms", &warm, WARM);
    let column = |of: fn(&Memory) -> f64| memory.iter().map(of).collect::<Vec<_>>();
    report.figure("resident when ready, MiB", &column(|memory| memory.ready[0]), MEMORY);
    report.figure("    its proportional share", &column(|memory| memory.ready[1]), Target::None);
    report.figure("resident after 1000 requests, MiB", &column(|memory| memory.used[0]), MEMORY);
    report.figure("    its proportional share", &column(|memory| memory.used[1]), Target::None);
    let size = fs::metadata(target().join("release/bulkhead")).unwrap().len();
    report.figure("size of the binary, MB", &[size as f64 / 1e6], Target::None);
}

struct Memory {
    ready: [f64; 2],
    used: [f64; 2],
}

fn memory(host: &Host) -> Memory {
    let ready = host.process.memory();
    let body = json!({ "siteKey": "demo", "siteSecret": "demo", "clientAddress": "192.0.2.1" });
    let challenge = request("POST", "/api/v1/captcha/challenge", &body.to_string());
    send(host.public, 16, &vec![challenge; 1000]);
    Memory { ready, used: host.process.memory() }
}
