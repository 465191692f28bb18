//! The real binary, started and ready.

use std::{
    fs::File,
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{Process, target};
use crate::load::{Load, request};

/// Longest time to be ready.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(1);

/// A host that is ready.
pub struct Host {
    pub process: Process,
    pub public: SocketAddr,
    pub admin: SocketAddr,
    /// From the start of the process to the first connection of the shared listener.
    pub listening_millis: f64,
    /// From the start of the process to the first `200` of `/health/ready`.
    pub millis: f64,
}

impl Host {
    /// Starts it on ports of its own with `folder` for its data, and else as a user gets it: it is one process, its storage
    /// is the default, and it writes its log with all access lines to a file, `bench.log` in `folder`.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let log = File::options().create(true).append(true).open(folder.join("bench.log")).unwrap();
        Self::started(folder, arguments, log.into())
    }

    /// Starts it without access lines, its errors somewhere else.
    pub fn logging(folder: &Path, arguments: &[&str], log: Stdio) -> Self {
        Self::started(folder, &[&["--log-level", "error"], arguments].concat(), log)
    }

    fn started(folder: &Path, arguments: &[&str], log: Stdio) -> Self {
        let [public, admin] = free_addresses();
        let mut command = Command::new(target().join("release/bulkhead"));
        command
            .args(["serve", "--listen", &public.to_string()])
            .args(["--admin-listen", &admin.to_string(), "--data-dir"])
            .arg(folder)
            .args(arguments);
        let since = Instant::now();
        let process =
            Process::of(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let millis_until = |is_so: fn(SocketAddr) -> bool, address| {
            while !is_so(address) {
                assert!(since.elapsed() < PATIENCE, "{command:?} is not ready");
                thread::sleep(PAUSE);
            }
            since.elapsed().as_secs_f64() * 1e3
        };
        let listening_millis = millis_until(listens, public);
        Self { process, public, admin, listening_millis, millis: millis_until(is_ready, admin) }
    }
}

/// Two addresses that nobody listens at.
pub fn free_addresses() -> [SocketAddr; 2] {
    // Both are held until both are known, so that they differ.
    let listeners = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap())
}

fn listens(public: SocketAddr) -> bool {
    TcpStream::connect(public).is_ok()
}

fn is_ready(admin: SocketAddr) -> bool {
    const OK: &[u8] = b"HTTP/1.1 200";
    let mut answer = [0; OK.len()];
    let ask = |answer: &mut [u8]| {
        let mut stream = TcpStream::connect(admin)?;
        stream.write_all(&request("GET", "/health/ready", ""))?;
        stream.read_exact(answer)
    };
    ask(&mut answer).is_ok() && answer == OK
}

/// Sends each request once.
pub fn send(address: SocketAddr, connections: usize, requests: &[Vec<u8>]) {
    let time = Duration::from_secs(60);
    Load { address, connections, time, requests, once: true, expected: "", keep: false }.run();
}
