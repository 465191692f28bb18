//! The real binary: how soon it is ready, what it takes, how large it is.

use std::{
    fs,
    io::BufRead,
    net::SocketAddr,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    load::{Load, request},
    options::Options,
    process::{Process, target},
    report::{Report, Target},
};

/// Resident memory without models, MiB.
const MEMORY: Target = Target::AtMost(60.0);

pub fn measure(options: &Options, report: &mut Report) {
    report.section("the binary, its captcha service with the demonstration site", "", "Bulkhead");
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    let mut memory = Vec::new();
    for _ in 0..options.rounds {
        let folder = tempfile::tempdir().unwrap();
        cold.push(Started::new(folder.path()).millis);
        let started = Started::new(folder.path());
        warm.push(started.millis);
        memory.push(started.memory());
    }
    report.figure("first start to ready, ms", &cold, Target::None);
    report.figure("later start to ready, compiled code cached, ms", &warm, Target::None);
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

/// A host that is ready.
struct Started {
    process: Process,
    public: SocketAddr,
    /// From the start of the process to the first `200` of `/health/ready`.
    millis: f64,
}

impl Started {
    fn new(folder: &Path) -> Self {
        let mut command = Command::new(target().join("release/bulkhead"));
        command
            .args(["serve", "--demo", "--log-format", "json", "--listen", "127.0.0.1:0"])
            .args(["--admin-listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder);
        let since = Instant::now();
        let (process, errors) = Process::start_logging(&mut command);
        let mut lines = errors.lines();
        let mut public = None;
        let admin = loop {
            let line: Value =
                serde_json::from_str(&lines.next().expect("a host that starts").unwrap()).unwrap();
            let url =
                |name: &str| line[name].as_str().and_then(|url| url.strip_prefix("http://")?.parse().ok());
            public = public.or(url("url"));
            if let Some(admin) = url("admin") {
                break admin;
            }
        };
        send(admin, 1, &[request("GET", "/health/ready", "")]);
        let millis = since.elapsed().as_secs_f64() * 1e3;
        // Nobody may wait for a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, public: public.unwrap(), millis }
    }

    fn memory(&self) -> Memory {
        let ready = self.process.memory();
        let body = json!({ "siteKey": "demo", "siteSecret": "demo", "clientAddress": "192.0.2.1" });
        let challenge = request("POST", "/api/v1/captcha/challenge", &body.to_string());
        send(self.public, 16, &vec![challenge; 1000]);
        Memory { ready, used: self.process.memory() }
    }
}

fn send(address: SocketAddr, connections: usize, requests: &[Vec<u8>]) {
    let time = Duration::from_secs(60);
    Load { address, connections, time, requests, once: true, expected: "", keep: false }.run();
}
