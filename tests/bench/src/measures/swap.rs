//! What swaps cost the calls beside them, and how long one takes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bulkhead::{
    compile::ComponentDigest,
    services::list::{self, CAPTCHA},
};
use bulkhead_tests::{
    TestHost,
    guests::{ARITHMETIC, Guest, with_functions},
    operator::{self, Operator},
    parts::Parts,
};
use serde_json::json;

use super::captcha;
use crate::{
    load::{Done, Load, request},
    noop,
    options::Options,
    process::Server,
    report::{Report, Target},
};

/// Few enough that the machine is not full: waiting for a core is not what is measured.
const CONNECTIONS: usize = 2;
/// Switches of a turn.
const SWITCHES: usize = 1000;
/// Swaps that are timed in a turn.
const SWAPS: usize = 20;
/// Between the beginnings of two swaps while calls are measured.
const BETWEEN_SWAPS: Duration = Duration::from_millis(20);
/// Versions that are swapped in turn: with two, the next would be the one that is held for a rollback, and nothing loaded.
const VERSIONS: u8 = 3;
/// Rollbacks that are timed while components compile.
const ROLLBACKS: usize = 50;
/// Components that compile then on the host, all of its permits, and as many on a compiler of the bench's own.
const COMPILING: usize = 2;
/// Until all of them compile.
const BEFORE_ROLLBACKS: Duration = Duration::from_secs(2);

pub fn measure(options: &Options, report: &mut Report) {
    report.section("swaps of the captcha component", "without", "during");
    let mut server = Server::ours("swap", 0);
    let operators = Operators::of(&server.line());
    let (mut calm, mut busy, mut swaps, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    // The first turn warms up and does not count.
    for round in 0..=options.rounds {
        let without = run(options, &server);
        let (during, made) = operators.swapping(|| run(options, &server));
        let timed = operators.timed(SWAPS);
        if round > 0 {
            calm.push(without.within(99));
            busy.push(during.within(99));
            counts.push(made as f64 / during.elapsed.as_secs_f64());
            swaps.extend(timed);
        }
    }
    report.ratio("p99 of challenges, us", &calm, &busy, Target::AtMost(1.5));
    report.figure("swaps a second meanwhile", &counts, Target::None);
    report.figure("a swap of a cached component, ms end to end", &swaps, Target::AtMost(50.0));
    let rollbacks = operators.rolling_back();
    report.figure(
        "a rollback while four components compile, ms end to end",
        &rollbacks,
        Target::AtMost(50.0),
    );
    report.figure("the switch itself, us", &switches(options), Target::AtMost(1000.0));
}

fn run(options: &Options, server: &Server) -> Done {
    let body = json!({ "siteKey": "compat", "siteSecret": "secret", "clientAddress": "10.0.0.1" });
    let requests = [request("POST", "/api/v1/captcha/challenge", &body.to_string())];
    let (address, time) = (server.address(), options.turn);
    Load {
        address,
        connections: CONNECTIONS,
        time,
        requests: &requests,
        once: false,
        expected: "challenge",
        keep: false,
    }
    .run()
}

/// Microseconds of one switch between two versions that are ready, of each turn.
fn switches(options: &Options) -> Vec<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let parts = Parts::new(&noop::config(false));
    let slot = runtime.block_on(noop::slot(&parts));
    let versions = ["(drop (i32.const 1))", "(drop (i32.const 2))"].map(|body| {
        let wasm = Guest::call(&format!("{body} i32.const 0")).component();
        runtime.block_on(slot.prepare(wasm.into(), "bench")).unwrap()
    });
    let turn = |_| {
        let since = Instant::now();
        for round in 0..SWITCHES {
            slot.serve(Arc::clone(&versions[round % 2]), None, None);
        }
        since.elapsed().as_secs_f64() * 1e6 / SWITCHES as f64
    };
    (0..options.rounds).map(turn).collect()
}

/// The operators' side of the host.
struct Operators {
    runtime: tokio::runtime::Runtime,
    operator: Operator,
    versions: Vec<String>,
    made: AtomicUsize,
}

impl Operators {
    fn of(admin: &str) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let operator = Operator::new(admin, operator::DEPLOY);
        let versions = runtime.block_on(async {
            let active = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
            let built_in = list::component(CAPTCHA).unwrap();
            let mut versions = vec![active];
            for number in 1..VERSIONS {
                // A component of the same answers with another digest.
                versions.push(operator.push([built_in, &[0, 3, 1, b'x', number]].concat()).await);
            }
            versions
        });
        Self { runtime, operator, versions, made: AtomicUsize::new(0) }
    }

    fn swap(&self) {
        let next = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        self.runtime.block_on(self.operator.swap(&self.versions[next % self.versions.len()]));
    }

    /// Swaps every [`BETWEEN_SWAPS`] while `load` runs; how many were made.
    fn swapping(&self, load: impl FnOnce() -> Done) -> (Done, usize) {
        let (over, before) = (AtomicBool::new(false), self.made.load(Ordering::Relaxed));
        let done = thread::scope(|scope| {
            scope.spawn(|| {
                // An operator asks from elsewhere; here the asking shares the machine with what is measured.
                rustix::process::setpriority_process(None, 10).unwrap();
                let mut next = Instant::now();
                while !over.load(Ordering::Relaxed) {
                    self.swap();
                    next += BETWEEN_SWAPS;
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            });
            let done = load();
            over.store(true, Ordering::Relaxed);
            done
        });
        (done, self.made.load(Ordering::Relaxed) - before)
    }

    /// Milliseconds of each of so many swaps: two requests to the host, as the command line makes them.
    fn timed(&self, swaps: usize) -> Vec<f64> {
        let swap = |_| {
            let since = Instant::now();
            self.swap();
            since.elapsed().as_secs_f64() * 1e3
        };
        (0..swaps).map(swap).collect()
    }
}

impl Operators {
    /// Milliseconds of each rollback while components compile without a pause.
    fn rolling_back(&self) -> Vec<f64> {
        let (over, made) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (parts, heavy) = (Parts::new(&format!("[sandbox]\ncompile_workers = {COMPILING}")), heavy());
        let next = || {
            let number = made.fetch_add(1, Ordering::Relaxed).to_le_bytes();
            [heavy.as_slice(), &[0, 10, 1, b'n'], &number].concat()
        };
        thread::scope(|scope| {
            for _ in 0..COMPILING {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        self.runtime.block_on(self.operator.push(next()));
                    }
                });
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let wasm = next();
                        let digest = ComponentDigest::of(&wasm);
                        self.runtime.block_on(parts.context.compiler.compile(wasm.into(), digest)).unwrap();
                    }
                });
            }
            thread::sleep(BEFORE_ROLLBACKS);
            let rollback = |_| {
                self.swap();
                let since = Instant::now();
                self.runtime.block_on(self.operator.change("rollback", json!({ "reason": "bench" })));
                self.made.fetch_sub(1, Ordering::Relaxed);
                since.elapsed().as_secs_f64() * 1e3
            };
            let times = (0..ROLLBACKS).map(rollback).collect();
            over.store(true, Ordering::Relaxed);
            times
        })
    }
}

/// A component that takes seconds to compile.
fn heavy() -> Vec<u8> {
    with_functions(Guest::default().component(), 8000, &ARITHMETIC.repeat(100))
}

/// A whole host with the captcha service; says where its operators' listener is, too.
pub async fn serve() {
    let sandbox = format!("[sandbox]\ncompile_workers = {COMPILING}\n");
    let config = format!("{}{}{}{}{sandbox}", captcha::QUIET, captcha::SITES, operator::tokens(), SERVICES);
    let host = TestHost::builder().config(&config).start().await;
    println!("{}", host.address());
    println!("{}", host.admin_url(""));
    std::future::pending::<()>().await;
}

/// Only what is measured; pushes meanwhile do not take the versions that are swapped out of the history.
const SERVICES: &str = "
    [slots.captcha.rollout]
    history = 1000
    [services]
    embedding.enabled = false
    status.enabled = false
    tickets.enabled = false
";
