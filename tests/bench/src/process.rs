//! Processes that are measured.

pub mod binary;
pub mod dialog;

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::load::{Done, Timed};

/// A server that has said where it listens. It ends with this value.
pub struct Server {
    process: Process,
    output: Box<dyn BufRead>,
    address: SocketAddr,
}

impl Server {
    /// Starts this program as a server of `kind` with `workers` threads, 0 for one a core.
    pub fn ours(kind: &str, workers: usize) -> Self {
        let this = std::env::current_exe().unwrap();
        Self::start(Command::new(this).args(["--serve", kind, &workers.to_string()]))
    }

    /// The first line of a server's standard output is its address.
    pub fn start(command: &mut Command) -> Self {
        let (process, mut output) = Process::start(command);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().parse().expect("a server that says where it listens");
        Self { process, output: Box::new(output), address }
    }

    /// The next line of its standard output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn process(&self) -> &Process {
        &self.process
    }
}

/// A process that ends with this value.
pub struct Process(Child);

impl Process {
    pub fn of(child: Child) -> Self {
        Self(child)
    }

    /// Starts it with a pipe to its standard output.
    pub fn start(command: &mut Command) -> (Self, impl BufRead + use<>) {
        let mut child = spawn(command.stdout(Stdio::piped()));
        let output = child.stdout.take().unwrap();
        (Self(child), BufReader::new(output))
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Processor seconds that it and its running children have used. Grain: 10 ms.
    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds(self.id()).expect("a process that runs")
    }

    /// Puts a load on it, and measures the processor time that it takes.
    pub fn timed(&self, load: impl FnOnce() -> Done) -> Timed {
        let before = self.cpu_seconds();
        let done = load();
        Timed { done, seconds: self.cpu_seconds() - before }
    }

    /// Resident memory, and its share where pages are shared with others, MiB.
    pub fn memory(&self) -> [f64; 2] {
        let of = |file: &str, name: &str| {
            let text = self.read(file);
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
        };
        [of("status", "VmRSS:"), of("smaps_rollup", "Pss:")]
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(Path::new("/proc").join(self.id().to_string()).join(file)).unwrap()
    }
}

/// Processor seconds of a process and its running children; `None` if it has ended.
fn cpu_seconds(id: u32) -> Option<f64> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).ok();
    let stat = read("stat")?;
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // utime and stime; proc(5) counts from 1, and two fields are cut off. USER_HZ is 100.
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    let children = read(&format!("task/{id}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|id| cpu_seconds(id.parse().ok()?));
    Some((ticks(14)? + ticks(15)?) / 100.0 + children.sum::<f64>())
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The build folder: this program's own.
pub fn target() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_path_buf()
}

/// `tests`, with the suite's data and the peers.
pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
