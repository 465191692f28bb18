//! The `hello` examples as apps, beside `wasmtime serve` with the same components.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::http::{Figures, Turns};
use crate::{
    load::{Load, request},
    noop,
    options::Options,
    process::{
        Process, Server,
        binary::{Host, free_addresses},
        target,
    },
    report::{Report, Target},
};

const CONNECTIONS: usize = 8;
/// The release that the host is built with.
const WASMTIME: &str = "48.0.8";
/// What `wasmtime serve` needs to compile components and to take instances from a pool.
const FEATURES: &str =
    "run,serve,cranelift,parallel-compilation,pooling-allocator,component-model,component-model-async";
/// Longest time until the peer answers: it compiles the component first.
const PATIENCE: Duration = Duration::from_secs(300);
/// Calls that find a peer that cannot keep its instances of a component.
const PROBES: usize = 8;
const PAUSE: Duration = Duration::from_millis(10);
/// The components, in the build folder.
const HELLOS: [(&str, &str); 3] = [
    ("Rust", "components/hello-rust.wasm"),
    ("JavaScript", "examples/hello-javascript.wasm"),
    ("Python", "examples/hello-python.wasm"),
];
/// How instances are used: the app's path, and the calls of an instance of the peer, which are the host's own.
const KINDS: [(&str, &str, usize); 2] = [("fresh", "/fresh", 1), ("reuse", "/reuse", 1000)];
const ANSWER: &str = "Hello from";

pub fn measure(options: &Options, report: &mut Report) {
    let wasmtime = built();
    report.section(
        "hello as an app over HTTP without a log, beside `wasmtime serve`",
        "wasmtime",
        "Bulkhead",
    );
    for (language, file) in HELLOS {
        let (wasm, folder) = (target().join(file), tempfile::tempdir().unwrap());
        let host = hosting(folder.path(), &wasm);
        for (kind, path, calls) in KINDS {
            let (peer, address) = serving(&wasmtime, &wasm, calls);
            let sides = [Side::new(&peer, address, "/"), Side::new(&host.process, host.public, path)];
            if !sides[0].answers() {
                report.note(format!("The peer does not answer with hello in {language}, {kind}."));
                continue;
            }
            let [theirs, ours] = turns(options, CONNECTIONS, &sides);
            let name = |figure: &str| format!("{figure}, {language}, {kind}");
            report.ratio(&name("requests/s"), &theirs.rate, &ours.rate, Target::AtLeast(1.0));
            let name = name("processor us a request");
            report.ratio(&name, &theirs.processor, &ours.processor, Target::AtMost(1.0));
        }
    }
    report.note("The peer has no limits of processor time, memory and streams, and counts nothing.");
    above_native(options, report);
    compiling(options, report);
}

/// The Rust example beside a native route behind the same layers.
fn above_native(options: &Options, report: &mut Report) {
    report.section("hello in Rust as an app without a log, beside a native route", "native", "app");
    let (wasm, folder) = (target().join(HELLOS[0].1), tempfile::tempdir().unwrap());
    let (native, host) = (Server::ours("native", 0), hosting(folder.path(), &wasm));
    let native_side =
        Side { expected: noop::ANSWER, ..Side::new(native.process(), native.address(), noop::PATH) };
    for (kind, path, _) in KINDS {
        let side = Side::new(&host.process, host.public, path);
        let [theirs, ours] = turns(options, 1, &[native_side.clone(), side]);
        let target = if kind == "fresh" { Target::AtMost(60.0) } else { Target::None };
        report.added(&format!("p50 us at 1 connection, {kind} instance"), &theirs.p50, &ours.p50, target);
    }
}

/// The compilation of the JavaScript example, which is of 12 MB, on one processor and on two.
fn compiling(options: &Options, report: &mut Report) {
    report.section("compiling hello in JavaScript", "on one core", "on two");
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        one.push(compiled_on("0"));
        two.push(compiled_on("0,1"));
    }
    report.ratio("seconds", &one, &two, Target::AtMost(0.6));
}

/// Seconds that a compilation takes on these processors, without compiled code of an earlier one.
fn compiled_on(processors: &str) -> f64 {
    let (folder, since) = (tempfile::tempdir().unwrap(), Instant::now());
    let mut compile = Command::new("taskset");
    compile.args(["--cpu-list", processors]).arg(target().join("release/bulkhead"));
    compile.args(["component", "compile"]).arg(target().join(HELLOS[1].1));
    compile.arg("--output").arg(folder.path().join("hello.cwasm"));
    compile.env("XDG_CACHE_HOME", folder.path()).stdout(Stdio::null());
    assert!(compile.status().unwrap().success());
    since.elapsed().as_secs_f64()
}

/// A server that is asked.
#[derive(Clone)]
struct Side<'p> {
    process: &'p Process,
    address: SocketAddr,
    requests: Vec<Vec<u8>>,
    expected: &'static str,
}

impl<'p> Side<'p> {
    fn new(process: &'p Process, address: SocketAddr, path: &str) -> Self {
        Self { process, address, requests: vec![request("GET", path, "")], expected: ANSWER }
    }

    /// Asks a few times, one after the other. Returns whether the status is always 200.
    fn answers(&self) -> bool {
        let status = |_| {
            let mut stream = TcpStream::connect(self.address)?;
            stream.write_all(&self.requests[0])?;
            let mut head = [0; "HTTP/1.1 200".len()];
            stream.read_exact(&mut head).map(|()| head)
        };
        (0..PROBES).map(status).all(|head: io::Result<_>| head.is_ok_and(|head| head.ends_with(b"200")))
    }
}

/// Asks both servers in turns.
fn turns(options: &Options, connections: usize, sides: &[Side<'_>; 2]) -> [Figures; 2] {
    let mut turns = [(); 2].map(|()| Turns::default());
    // The first turn warms up and does not count.
    for round in 0..=options.rounds {
        for (side, turns) in sides.iter().zip(&mut turns) {
            let load = Load {
                address: side.address,
                connections,
                time: options.turn,
                requests: &side.requests,
                once: false,
                expected: side.expected,
                keep: false,
            };
            let turn = side.process.timed(|| load.run());
            if round > 0 {
                turns.push(turn);
            }
        }
    }
    turns.map(Turns::transpose)
}

/// A host with the component as an app for each kind, and nothing else.
fn hosting(folder: &Path, wasm: &Path) -> Host {
    let services = ["embedding", "tickets", "status", "captcha"];
    let services = services.map(|service| format!("services.{service}.enabled = false\n")).concat();
    let apps = KINDS.map(|(kind, path, _)| {
        format!(
            "[apps.{kind}]\ncomponent = '{}'\npath_prefix = '{path}'\nreuse = {}\nmemory_bytes = 134217728\n",
            wasm.display(),
            kind == "reuse"
        )
    });
    let file = folder.join("bench.toml");
    fs::write(&file, format!("{services}{}", apps.concat())).unwrap();
    // The peer writes no access lines either.
    Host::logging(folder, &["--config", file.to_str().unwrap()], Stdio::inherit())
}

/// Starts the peer, whose instances take so many calls each.
fn serving(wasmtime: &Path, wasm: &Path, calls: usize) -> (Process, SocketAddr) {
    let [address, _] = free_addresses();
    let mut command = Command::new(wasmtime);
    command
        .args(["serve", "-Scli", "--addr", &address.to_string()])
        .args(["--max-instance-reuse-count", &calls.to_string()])
        .arg(wasm)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut process = Process::of(command.spawn().unwrap());
    let since = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(since.elapsed() < PATIENCE && !process.has_ended(), "{command:?} does not answer");
        thread::sleep(PAUSE);
    }
    (process, address)
}

/// The peer's program, built if it is not there.
fn built() -> PathBuf {
    let root = target().join("wasmtime");
    let program = root.join("bin/wasmtime");
    let mut cargo = Command::new("cargo");
    cargo.args(["install", "--quiet", "--locked", "--no-default-features", "--features", FEATURES]);
    cargo.args(["--version", WASMTIME, "--root"]).arg(&root).arg("wasmtime-cli");
    // Beside the workspace, whose settings are not the peer's.
    let status = cargo.current_dir(std::env::temp_dir()).status().unwrap();
    assert!(status.success(), "{cargo:?}: {status}");
    program
}
