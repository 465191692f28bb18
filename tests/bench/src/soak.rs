//! `just soak MINUTES`: swaps, hostile guests, embeddings and the captcha at once against one host as a user runs it,
//! whose memory, handles, threads and files must not grow.

mod plot;
mod usage;

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bulkhead::services::list::{self, CAPTCHA};
use bulkhead_sources::catalog::known;
use bulkhead_tests::{
    growth::Growth,
    guests::{Guest, StatusGuest},
    operator::{self, Operator},
    pulled::pulled,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use self::usage::{NAMES, Usage};
use crate::{
    load::{Done, Load, request},
    measures::embedding::texts,
    process::{binary::Host, target},
    solve::solve_all,
};

/// What each of [`NAMES`] may grow over the second half, noise aside: MiB, and numbers. What is leaked a minute is found
/// the better the longer the run.
const BOUNDS: [f64; NAMES.len()] = [8.0, 6.0, 6.0, 4.0];
/// Between two samples.
const INTERVAL: Duration = Duration::from_secs(1);
/// Length of one turn of a client.
const TURN: Duration = Duration::from_secs(2);
/// Between two swaps: the machine is for the calls too.
const PAUSE: Duration = Duration::from_millis(100);
/// Swaps to a version that is known, for each component that is new.
const SWAPS: u64 = 30;
/// Calls of each hostile version.
const CALLS: usize = 5;
/// Connections of a client.
const CONNECTIONS: usize = 2;
/// Static, so that texts cost little and the host is asked often.
const MODEL: &str = "potion-base-8M";
const STATUS: &str = "/terminvereinbarung/api/2/status/";

/// What is kept has a small cap and a short life, so that it is full before the second half.
const CONFIG: &str = r#"
    demo = true
    log.level = "error"
    sandbox.cache_bytes = 4_194_304
    services.tickets.enabled = false
    [slots.captcha]
    deadline_ms = 60_000
    rollout = { history = 4, watch_seconds = 0 }
    [slots.status]
    cpu_ms = 20
    rollout = { history = 10, watch_seconds = 0, circuit_failures = 0 }
    [captcha]
    captcha_timeout_seconds = 60
    source_address_window_seconds = 10
    [captcha.sites.soak]
    secret = "secret"
    difficulty_map = [{ min_visits = 1, cost = 1 }]
"#;

/// Status components that keep to the world and not to the rules; `{"half":` is no JSON.
fn hostile() -> Vec<Vec<u8>> {
    const LOOP: &str = "(loop $again (br $again))";
    const GROW: &str =
        "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable";
    let before = |before: &str| StatusGuest { before: before.to_owned(), ..StatusGuest::default() };
    let unusable = StatusGuest { data: "{\"half\":".to_owned(), ..StatusGuest::default() };
    [before("unreachable"), before(LOOP), before(GROW), unusable].iter().map(StatusGuest::component).collect()
}

/// What was done.
#[derive(Default)]
struct Counts {
    challenges: AtomicU64,
    embeddings: AtomicU64,
    hostile_calls: AtomicU64,
    swaps: AtomicU64,
    pushes: AtomicU64,
}

/// Everything that acts on the host.
struct Soak {
    public: SocketAddr,
    admin: String,
    over: AtomicBool,
    counts: Counts,
}

/// Ends the run where a client of it panics.
struct Watched<'s>(&'s AtomicBool);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs for so long; red where something grows.
pub fn run(time: Duration) -> ExitCode {
    let model = pulled(known(MODEL).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (data, config) = (folder.path().join("data"), folder.path().join("bulkhead.toml"));
    let models = format!("embedding.models = [\"{}\"]\n", model.display());
    fs::write(&config, format!("{models}{CONFIG}{}", operator::tokens())).unwrap();
    // Hostile guests are said there line by line.
    let (log, path) = file("log");
    let host = Host::logging(&data, &["--config", config.to_str().unwrap()], log.into());
    println!("the host's log: {}", path.display());
    let soak = Soak {
        public: host.public,
        admin: format!("http://{}", host.admin),
        over: AtomicBool::new(false),
        counts: Counts::default(),
    };
    println!("soaking for {} s; memory in MiB, then handles, threads and files", time.as_secs());
    let (samples, failed) = thread::scope(|scope| {
        let clients = [Soak::embed, Soak::solve, Soak::swap, Soak::misbehave].map(|client| {
            let soak = &soak;
            scope.spawn(move || {
                let _watched = Watched(&soak.over);
                while !soak.over.load(Ordering::Relaxed) {
                    client(soak);
                }
            })
        });
        let samples = sample(&host, &data, time, &soak.over);
        soak.over.store(true, Ordering::Relaxed);
        (samples, clients.map(|client| client.join().is_err()).contains(&true))
    });
    let verdict = judge(&samples);
    soak.report();
    if failed {
        println!("ended early: a client failed");
        return ExitCode::FAILURE;
    }
    verdict
}

/// Samples until the time is over, or the run.
fn sample(host: &Host, data: &Path, time: Duration, over: &AtomicBool) -> Vec<Usage> {
    let since = Instant::now();
    let mut samples = Vec::new();
    while since.elapsed() < time && !over.load(Ordering::Relaxed) {
        let usage = Usage::of(host.process.id(), data, since.elapsed());
        if samples.len() % 30 == 0 {
            println!("{:>6.0} s {:>8.1?}", usage.seconds, usage.figures);
        }
        samples.push(usage);
        thread::sleep(INTERVAL);
    }
    samples
}

fn judge(samples: &[Usage]) -> ExitCode {
    let column = |at: usize| samples.iter().map(|usage| usage.figures[at]).collect::<Vec<_>>();
    let growths: Vec<Growth> = (0..NAMES.len()).map(|at| Growth::of(&column(at), BOUNDS[at])).collect();
    println!("\n{:<12} {:>10} {:>10} {:>10} {:>10}", "", "half", "end", "growth", "allowed");
    for (name, growth) in NAMES.iter().zip(&growths) {
        let ([half, end], verdict) = (growth.line, if growth.is_too_much() { "GROWS" } else { "flat" });
        println!(
            "{name:<12} {half:>10.1} {end:>10.1} {:>10.1} {:>10.1}  {verdict}",
            growth.rise(),
            growth.allowed
        );
    }
    for (extension, text) in [("csv", usage::csv(samples)), ("svg", plot::svg(samples, &growths))] {
        let (mut file, path) = file(extension);
        file.write_all(text.as_bytes()).unwrap();
        println!("{}", path.display());
    }
    if growths.iter().any(Growth::is_too_much) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A new file of the run, named by the time.
fn file(extension: &str) -> (File, PathBuf) {
    let stamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let folder = target().join("soak");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{stamp}.{extension}"));
    (File::create(&path).unwrap(), path)
}

impl Soak {
    fn report(&self) {
        let Counts { challenges, embeddings, hostile_calls, swaps, pushes } = &self.counts;
        for (what, count) in [
            ("challenges solved and verified", challenges),
            ("requests embedded", embeddings),
            ("calls of hostile guests", hostile_calls),
            ("swaps", swaps),
            ("components pushed", pushes),
        ] {
            let count = count.load(Ordering::Relaxed);
            println!("{count:>10} {what}");
            assert!(count > 0, "no {what}");
        }
    }

    fn load(&self, requests: &[Vec<u8>], once: bool, expected: &str, keep: bool) -> Done {
        let (address, connections, time) = (self.public, CONNECTIONS, TURN);
        Load { address, connections, time, requests, once, expected, keep }.run()
    }

    /// Embeds sentences for a turn.
    fn embed(&self) {
        let body = |text: &String| request("POST", "/embed", &json!({ "inputs": [text] }).to_string());
        let requests: Vec<_> = texts::sentences().iter().map(body).collect();
        let done = self.load(&requests, false, "[[", false);
        self.counts.embeddings.fetch_add(done.latencies.len() as u64, Ordering::Relaxed);
    }

    /// Has challenges issued to some clients, solves them and has them verified.
    fn solve(&self) {
        let envelope = |client: usize| json!({ "siteKey": "soak", "siteSecret": "secret", "clientAddress": format!("10.0.0.{client}") });
        let post =
            |path: &str, body: Value| request("POST", &format!("/api/v1/captcha/{path}"), &body.to_string());
        let asked: Vec<_> = (0..64).map(|client| post("challenge", envelope(client))).collect();
        let issued = self.load(&asked, true, "challenge", true);
        let verify = |(client, payload): (usize, Value)| {
            let mut body = envelope(client);
            body["payload"] = payload;
            post("verify", body)
        };
        let solved: Vec<_> = solve_all(&issued.bodies).into_iter().enumerate().map(verify).collect();
        let verified = self.load(&solved, true, r#""valid":true"#, false);
        self.counts.challenges.fetch_add(verified.latencies.len() as u64, Ordering::Relaxed);
    }

    /// Pushes a component that is new, and swaps back and forth between it and the one that answers.
    fn swap(&self) {
        let (runtime, operator) = self.operator("captcha");
        runtime.block_on(async {
            let active = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
            let built_in = list::component(CAPTCHA).unwrap();
            let number = self.counts.pushes.fetch_add(1, Ordering::Relaxed).to_le_bytes();
            // The same component with a custom section, which gives it another digest.
            let next = operator.push([built_in, &[0, 10, 1, b'n'], &number].concat()).await;
            for count in 0..SWAPS {
                self.swap_to(&operator, if count % 2 == 0 { &next } else { &active }).await;
            }
            self.swap_to(&operator, &next).await;
        });
    }

    /// Has hostile versions answer for the status service, each for a few calls, and the good one in between.
    fn misbehave(&self) {
        let (runtime, operator) = self.operator("status");
        let call =
            format!("GET {STATUS} HTTP/1.1\r\nhost: localhost\r\nx-token: demo\r\nconnection: close\r\n\r\n");
        runtime.block_on(async {
            let good = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
            let (status, refused) = operator.try_push(Guest::default().component()).await;
            assert_eq!(status, 422, "{refused}");
            let mut versions = Vec::new();
            for wasm in hostile() {
                versions.push(operator.push(wasm).await);
            }
            while !self.over.load(Ordering::Relaxed) {
                for version in &versions {
                    self.swap_to(&operator, version).await;
                    for _ in 0..CALLS {
                        let status = ask(self.public, call.as_bytes());
                        assert!((500..=504).contains(&status), "{status}");
                        self.counts.hostile_calls.fetch_add(1, Ordering::Relaxed);
                    }
                    self.swap_to(&operator, &good).await;
                    assert_eq!(ask(self.public, call.as_bytes()), 200);
                }
            }
        });
    }

    fn operator(&self, slot: &'static str) -> (Runtime, Operator) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        (runtime, Operator::new(&self.admin, operator::DEPLOY).of(slot))
    }

    async fn swap_to(&self, operator: &Operator, version: &str) {
        operator.swap(version).await;
        self.counts.swaps.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(PAUSE).await;
    }
}

/// The status of one call over a connection of its own.
fn ask(address: SocketAddr, request: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let status = answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    status.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}
