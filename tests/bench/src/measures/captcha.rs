//! The captcha service over HTTP beside a Node server with `altcha-lib` on the same parameters.

use std::{fs, net::SocketAddr, path::Path, process::Command, sync::Arc, time::Duration};

use bulkhead::{
    keys::MasterKey,
    services::{
        captcha::{CaptchaService, config::Captcha},
        list::{self, CAPTCHA},
    },
    storage::{self, Backend, Ledger},
};
use bulkhead_tests::{host::HMAC_KEY, parts::Parts, servers::tls::Certificate};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_rustls::TlsConnector;

use crate::{
    load::{Done, Load, Timed, request},
    options::Options,
    process::{Process, Server, binary::Host, target},
    report::{Report, Target},
    solve::solve_all,
};

/// `compat`: a signature is the work. `minted`: two HMACs are the work of verifying. `derived`: a derivation
/// is the work of verifying. `default`: a derivation is the work of issuing.
pub const SITES: &str = r#"
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

/// No access lines, before [`SITES`].
pub const QUIET: &str = "log.level = \"warn\"\n";

/// Kept instances, after [`SITES`].
const KEPT: &str = "[slots.captcha]\nreuse = true\n";

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
    let peers = [
        Peer::node(1, None),
        Peer::host("", None),
        Peer::host(KEPT, None),
        Peer::in_memory(),
        Peer::node(2, None),
    ];
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
    let [node, host, kept, memory, cluster] = &figures;
    for (index, measured) in MEASURED.iter().enumerate() {
        let Measured { name, least, share, most } = *measured;
        report.ratio(name, &node.rates[index], &host.rates[index], Target::AtLeast(least));
        report.processor(&node.micros[index], &host.micros[index], Target::AtMost(share));
        if let Some([fresh, _]) = most {
            report.figure("    the same", &host.micros[index], Target::AtMost(fresh));
        }
        report.ratio("    kept instances", &node.rates[index], &kept.rates[index], Target::None);
        report.processor(&node.micros[index], &kept.micros[index], Target::None);
        if let Some([_, kept_most]) = most {
            report.figure("    the same", &kept.micros[index], Target::AtMost(kept_most));
        }
        report.ratio("    ledger in memory, no log", &node.rates[index], &memory.rates[index], Target::None);
        report.processor(&node.micros[index], &memory.micros[index], Target::None);
        report.ratio("    Node with 2 workers", &cluster.rates[index], &host.rates[index], Target::None);
        report.processor(&cluster.micros[index], &host.micros[index], Target::None);
    }
    report.note("Bulkhead: the host as a user gets it, where a row's name says nothing else: one process, its ledger in");
    report.note("SQLite, where a claim is on disk before it is granted, its log in a file, fresh instances.");
    report.note("Node: one process as users run it, spent challenges in memory, no visits counted, no log; with 2 workers");
    report.note("each has a memory of its own and accepts what the other has spent.");
    over_tls(options, report);
}

/// Challenges and verifications where a signature is the work, with TLS on both sides.
fn over_tls(options: &Options, report: &mut Report) {
    report.section("captcha over HTTPS, requests/s, beside Node with altcha-lib", "Node", "Bulkhead");
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::issue(folder.path());
    let peers = [Peer::node(1, Some(&certificate)), Peer::host("", Some(&certificate))];
    let mut figures = [(); 2].map(|()| Figures::default());
    // The first turn warms up and does not count.
    for round in 0..=options.rounds {
        for (peer, figures) in peers.iter().zip(&mut figures) {
            let turn = peer.signatures(options.turn);
            if round > 0 {
                figures.push(&turn);
            }
        }
    }
    let [node, host] = &figures;
    for (index, Measured { name, share, .. }) in MEASURED.iter().enumerate().take(SIGNATURES) {
        report.ratio(&format!("{name}, TLS"), &node.rates[index], &host.rates[index], Target::None);
        report.processor(&node.micros[index], &host.micros[index], Target::AtMost(*share));
    }
}
/// The captcha service with its own component, its ledger in memory.
pub async fn service(parts: &Parts) -> CaptchaService {
    let settings: &Captcha = parts.config.table().unwrap();
    let options = storage::LedgerOptions::new(settings.source_address_window, settings.database_connections);
    let ledger = Ledger::open(Backend::Memory, options).await.unwrap();
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

/// A measure of each turn.
struct Measured {
    name: &'static str,
    /// Least ratio of requests a second.
    least: f64,
    /// Most processor time, as a share of Node's.
    share: f64,
    /// Most processor microseconds a request, with fresh and with kept instances.
    most: Option<[f64; 2]>,
}

const MEASURED: [Measured; 6] = [
    Measured { name: "issue, SHA-256: a signature", least: 5.0, share: TWO_THIRDS, most: Some([90.0, 60.0]) },
    Measured {
        name: "verify, SHA-256 at cost 1: a signature",
        least: 5.0,
        share: TWO_THIRDS,
        most: Some([110.0, 80.0]),
    },
    Measured {
        name: "verify, deterministic PBKDF2: signatures",
        least: 5.0,
        share: TWO_THIRDS,
        most: Some([110.0, 80.0]),
    },
    Measured { name: "verify, PBKDF2 at cost 5000: a derivation", least: 1.0, share: 1.0, most: None },
    Measured { name: "issue, deterministic PBKDF2 at cost 5000", least: 1.0, share: 1.0, most: None },
    Measured { name: "issue of 200 after a pause, minted ahead", least: 1.0, share: 1.0, most: None },
];

/// How many of them, the first, have a signature as their work and are measured over TLS, too.
const SIGNATURES: usize = 2;

const TWO_THIRDS: f64 = 0.67;

#[derive(Default)]
struct Figures {
    rates: [Vec<f64>; MEASURED.len()],
    micros: [Vec<f64>; MEASURED.len()],
}

impl Figures {
    /// Adds a turn, which may have fewer measures.
    fn push(&mut self, turn: &[Timed]) {
        for (index, timed) in turn.iter().enumerate() {
            self.rates[index].push(timed.done.rate());
            self.micros[index].push(timed.micros());
        }
    }
}

/// A server that speaks the captcha service's protocol.
struct Peer {
    server: Serving,
    tls: Option<TlsConnector>,
}

enum Serving {
    Program(Server),
    /// With the folder of its data and its log, which is removed when this is dropped.
    Host(Host, #[expect(dead_code, reason = "is only dropped")] TempDir),
}

impl Serving {
    fn address(&self) -> SocketAddr {
        match self {
            Self::Program(server) => server.address(),
            Self::Host(host, _) => host.public,
        }
    }

    fn process(&self) -> &Process {
        match self {
            Self::Program(server) => server.process(),
            Self::Host(host, _) => &host.process,
        }
    }
}

impl Peer {
    /// The service alone, its ledger in memory, without a log.
    fn in_memory() -> Self {
        Self { server: Serving::Program(Server::ours("memory", 0)), tls: None }
    }

    /// The host as a user gets it but for its sites and `more` of its configuration.
    fn host(more: &str, certificate: Option<&Certificate>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tls = certificate.map_or(String::new(), |Certificate { certificate, key, .. }| {
            format!("[server.tls]\ncert = {certificate:?}\nkey = {key:?}\n")
        });
        let config = folder.path().join("bulkhead.toml");
        fs::write(&config, format!("{SITES}{more}{tls}")).unwrap();
        let host = Host::start(folder.path(), &["--config", config.to_str().unwrap()]);
        Self { server: Serving::Host(host, folder), tls: certificate.map(trusting) }
    }

    fn node(workers: usize, certificate: Option<&Certificate>) -> Self {
        let folder = target().join("test-tools/node");
        assert!(folder.join("node_modules/altcha-lib").is_dir(), "no altcha-lib; run `just bench`");
        // Beside the packages, where Node looks for them.
        let script = folder.join("altcha_server.mjs");
        fs::write(&script, include_str!("altcha_server.mjs")).unwrap();
        let file = |path: &Path| path.to_str().unwrap().to_owned();
        let tls = certificate.map(
            |Certificate { certificate, key, .. }| json!({ "cert": file(certificate), "key": file(key) }),
        );
        let settings = json!({
            "workers": workers, "secret": "a secret for the bench only", "sites": node_sites(), "tls": tls,
        });
        let server = Server::start(Command::new("node").arg(script).arg(settings.to_string()));
        Self { server: Serving::Program(server), tls: certificate.map(trusting) }
    }

    /// Requests that verify a few challenges of `derived`.
    fn solved(&self) -> Vec<Vec<u8>> {
        let requests = issue("derived");
        let done = self.run(&requests[..SOLVED], true, Duration::from_secs(60), "challenge");
        verify("derived", &solve_all(&done.bodies))
    }

    fn turn(&self, time: Duration, derived: &[Vec<u8>]) -> Vec<Timed> {
        let mut turn = self.signatures(time);
        let minted = self.run(&issue("minted"), false, time, "challenge");
        let payloads = verify("minted", &solve_all(&minted.bodies));
        turn.push(self.timed(|| self.run(&payloads, true, time, VALID)));

        turn.push(self.timed(|| self.run(derived, false, time, VALID)));
        turn.push(self.timed(|| self.run(&issue("default"), false, time, "challenge")));
        std::thread::sleep(PAUSE);
        turn.push(self.timed(|| self.run(&issue("default")[..BURST], true, time, "challenge")));
        turn
    }

    /// The measures whose work is a signature.
    fn signatures(&self, time: Duration) -> Vec<Timed> {
        let issued = self.timed(|| self.run(&issue("compat"), false, time, "challenge"));
        let payloads = verify("compat", &solve_all(&issued.done.bodies));
        let verified = self.timed(|| self.run(&payloads, true, time, VALID));
        vec![issued, verified]
    }

    fn run(&self, requests: &[Vec<u8>], once: bool, time: Duration, expected: &str) -> Done {
        let address = self.server.address();
        let load = Load { address, connections: CONNECTIONS, time, requests, once, expected, keep: true };
        load.run_over(self.tls.as_ref())
    }

    /// With the processor time that the server used.
    fn timed(&self, run: impl FnOnce() -> Done) -> Timed {
        self.server.process().timed(run)
    }
}

/// A client that trusts the authority of a certificate.
fn trusting(certificate: &Certificate) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate.authority).unwrap()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(client).into()
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
