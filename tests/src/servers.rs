//! Servers that tests need, each on a port and in a folder of its own.

pub mod fake_registry;
pub mod llm;
pub mod mariadb;
pub mod postgres;
pub mod proxy;
pub mod registry;
pub mod tls;

use std::{
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The password of every server's user: a text that must never turn up in a log or an answer.
const PASSWORD: &str = "do-not-print-me";

/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("the listener's address").port()
}

/// Waits until a server that was just started answers, or says why it does not.
fn until_ready(mut server: Child, answers: impl Fn() -> bool) -> Result<Child, String> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Ok(Some(status)) = server.try_wait() {
            return Err(format!("it ended with {status}"));
        }
        if answers() {
            return Ok(server);
        }
        thread::sleep(Duration::from_millis(50));
    }
    kill(&mut server);
    Err("it does not answer".into())
}

/// Sends a signal to a server and waits until it has ended; one that takes too long is killed.
fn end(mut server: Child, name: &str) {
    signal(name, &[server.id()]);
    let until = Instant::now() + PATIENCE;
    while matches!(server.try_wait(), Ok(None)) {
        if Instant::now() > until {
            // Its children notice that it is gone and end too.
            return kill(&mut server);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn kill(server: &mut Child) {
    let _ = server.kill();
    let _ = server.wait();
}

fn signal(name: &str, processes: &[u32]) {
    let ids = processes.iter().map(u32::to_string);
    // A process that has just ended cannot be signalled; that is not a failure.
    let _ = Command::new("kill").arg("-s").arg(name).args(ids).stderr(Stdio::null()).status();
}
