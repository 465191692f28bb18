//! The captcha service over HTTP beside a Node server with `altcha-lib` on the same parameters.

use std::{fs, process::Command, time::Duration};

use bulkhead::{
    keys::MasterKey,
    services::{
        captcha::{CaptchaService, config::Captcha},
        list::{self, CAPTCHA},
    },
    storage::{self, Backend, Ledger},
};
use bulkhead_tests::{host::HMAC_KEY, parts::Parts};
use serde_json::{Value, json};

use crate::{
    load::{Done, Load, request},
    options::Options,
    process::{Server, target},
    report::{Report, Target},
    solve::solve_all,
};

/// `compat`: a signature is the work. `minted`: two HMACs are the work of verifying. `derived`: a derivation
/// is the work of verifying. `default`: a derivation is the work of issuing.
pub const SITES: &str = r#"
    log.level = "warn"
    [captcha.sites.compat]
    secret = "secret"
    compat = true
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    [captcha.sites.minted]
    secret = "secret"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
    [captcha.sites.derived]
    secret = "secret"
    deterministic = false
    max_verifies_per_payload = 10000
    [captcha.sites.default]
    secret = "secret"
"#;

/// The same sites for the Node server.
fn node_sites() -> Value {
    let site = |algorithm: &str, cost: u32, counter_max: Option<u32>, max_verifies: u32| {
        json!({
            "secret": "secret", "algorithm": algorithm, "cost": cost, "counterMax": counter_max,
            "maxVerifies": max_verifies,
        })
    };
    json!({
        "compat": site("SHA-256", 1, None, 1),
        "minted": site("PBKDF2/SHA-256", 1, Some(256), 1),
        "derived": site("PBKDF2/SHA-256", 5000, None, 10_000),
        "default": site("PBKDF2/SHA-256", 5000, Some(256), 1),
    })
}

const CONNECTIONS: usize = 16;
/// Clients that ask for challenges in turn.
const CLIENTS: usize = 4096;
/// Challenges that are verified over and over where a solution takes seconds to find.
const SOLVED: usize = 8;
/// Challenges of a burst: fewer than the host mints ahead.
const BURST: usize = 200;
/// In which idle threads mint ahead.
const PAUSE: Duration = Duration::from_millis(700);

pub fn measure(options: &Options, report: &mut Report) {
    report.section("captcha over HTTP, requests/s, beside Node with altcha-lib", "Node", "Bulkhead");
    let peers =
        [Peer::node(1), Peer::ours("memory"), Peer::node(2), Peer::ours("sqlite"), Peer::ours("kept")];
    let mut figures = [(); 5].map(|()| Figures::default());
    let derived = peers.each_ref().map(Peer::solved);
    // The first turn warms up and does not count.
    for round in 0..=options.rounds {
        for ((peer, derived), figures) in peers.iter().zip(&derived).zip(&mut figures) {
            let turn = peer.turn(options.turn, derived);
            if round > 0 {
                figures.push(&turn);
            }
        }
    }
    let [node, memory, cluster, sqlite, kept] = &figures;
    for (index, (name, target)) in MEASURED.into_iter().enumerate() {
        report.ratio(name, &node.rates[index], &memory.rates[index], Target::AtLeast(target));
        report.ratio("    kept instances", &node.rates[index], &kept.rates[index], Target::None);
        report.ratio("    durable, in SQLite", &node.rates[index], &sqlite.rates[index], Target::None);
        report.ratio("    Node with 2 workers", &cluster.rates[index], &memory.rates[index], Target::None);
        report.ratio("    processor us a request", &node.micros[index], &memory.micros[index], Target::None);
    }
    report.note(
        "Node: one process as users run it, spent challenges in memory, no visits counted; with 2 workers",
    );
    report.note(
        "each has a memory of its own and accepts what the other has spent. Ledgers in memory on both sides",
    );
    report.note("but for SQLite, where a claim is on disk before it is granted.");
}

/// The captcha service with its own component, its ledger in memory or durable.
pub async fn service(parts: &Parts, durable: bool) -> CaptchaService {
    let settings: &Captcha = parts.config.table().unwrap();
    let backend =
        if durable { Backend::Sqlite(parts.folder.path().join("captcha.sqlite")) } else { Backend::Memory };
    let options = storage::Options::new(settings.source_address_window, settings.database_connections);
    let ledger = Ledger::open(backend, options).await.unwrap();
    let slot = parts.slot(CAPTCHA);
    let masters = [MasterKey::new(HMAC_KEY)];
    let (resources, metrics) = (parts.resources(CAPTCHA), parts.metrics.set().unwrap());
    let context = parts.context.clone();
    let service = CaptchaService::new(settings, slot, context, resources, &masters, ledger, metrics);
    let wasm = list::component(CAPTCHA).unwrap();
    let version = service.slot().prepare(wasm.into(), "embedded").await.unwrap();
    service.slot().activate(version);
    service
}

/// What each turn measures, and the least ratio of requests a second.
const MEASURED: [(&str, f64); 6] = [
    ("issue, SHA-256: a signature", 5.0),
    ("verify, SHA-256 at cost 1: a signature", 5.0),
    ("verify, deterministic PBKDF2: signatures", 5.0),
    ("verify, PBKDF2 at cost 5000: a derivation", 1.0),
    ("issue, deterministic PBKDF2 at cost 5000", 1.0),
    ("issue of 200 after a pause, minted ahead", 1.0),
];

type Turn = [(Done, f64); MEASURED.len()];

#[derive(Default)]
struct Figures {
    rates: [Vec<f64>; MEASURED.len()],
    micros: [Vec<f64>; MEASURED.len()],
}

impl Figures {
    fn push(&mut self, turn: &Turn) {
        for (index, (done, seconds)) in turn.iter().enumerate() {
            self.rates[index].push(done.rate());
            self.micros[index].push(seconds * 1e6 / done.latencies.len() as f64);
        }
    }
}

/// A server that speaks the captcha service's protocol.
struct Peer(Server);

impl Peer {
    fn ours(kind: &str) -> Self {
        Self(Server::ours(kind, 0))
    }

    fn node(workers: usize) -> Self {
        let folder = target().join("test-tools/node");
        assert!(folder.join("node_modules/altcha-lib").is_dir(), "no altcha-lib; run `just bench`");
        // Beside the packages, where Node looks for them.
        let script = folder.join("altcha_server.mjs");
        fs::write(&script, include_str!("altcha_server.mjs")).unwrap();
        let settings =
            json!({ "workers": workers, "secret": "a secret for the bench only", "sites": node_sites() });
        Self(Server::start(Command::new("node").arg(script).arg(settings.to_string())))
    }

    /// Requests that verify a few challenges of `derived`.
    fn solved(&self) -> Vec<Vec<u8>> {
        let requests = issue("derived");
        let done = self.run(&requests[..SOLVED], true, Duration::from_secs(60), "challenge");
        verify("derived", &solve_all(&done.bodies))
    }

    fn turn(&self, time: Duration, derived: &[Vec<u8>]) -> Turn {
        let issued = self.timed(|| self.run(&issue("compat"), false, time, "challenge"));
        let payloads = verify("compat", &solve_all(&issued.0.bodies));
        let verified = self.timed(|| self.run(&payloads, true, time, VALID));

        let minted = self.run(&issue("minted"), false, time, "challenge");
        let payloads = verify("minted", &solve_all(&minted.bodies));
        let judged = self.timed(|| self.run(&payloads, true, time, VALID));

        let derived = self.timed(|| self.run(derived, false, time, VALID));
        let sustained = self.timed(|| self.run(&issue("default"), false, time, "challenge"));
        std::thread::sleep(PAUSE);
        let burst = self.timed(|| self.run(&issue("default")[..BURST], true, time, "challenge"));
        [issued, verified, judged, derived, sustained, burst]
    }

    fn run(&self, requests: &[Vec<u8>], once: bool, time: Duration, expected: &str) -> Done {
        let address = self.0.address();
        Load { address, connections: CONNECTIONS, time, requests, once, expected, keep: true }.run()
    }

    /// With the processor seconds that the server used.
    fn timed(&self, run: impl FnOnce() -> Done) -> (Done, f64) {
        let before = self.0.process().cpu_seconds();
        let done = run();
        (done, self.0.process().cpu_seconds() - before)
    }
}

const VALID: &str = r#""valid":true"#;

fn envelope(site: &str, client: usize) -> Value {
    let address = format!("10.0.{}.{}", client / 256, client % 256);
    json!({ "siteKey": site, "siteSecret": "secret", "clientAddress": address })
}

fn issue(site: &str) -> Vec<Vec<u8>> {
    let body = |client| envelope(site, client).to_string();
    (0..CLIENTS).map(|client| request("POST", "/api/v1/captcha/challenge", &body(client))).collect()
}

fn verify(site: &str, payloads: &[Value]) -> Vec<Vec<u8>> {
    let body = |(client, payload): (usize, &Value)| {
        let mut body = envelope(site, client % CLIENTS);
        body["payload"] = payload.clone();
        body.to_string()
    };
    let bodies = payloads.iter().enumerate().map(body);
    bodies.map(|body| request("POST", "/api/v1/captcha/verify", &body)).collect()
}
