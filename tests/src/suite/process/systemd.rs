//! The host as a unit of systemd: what it reports, and the unit and the configuration that packages install.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use bulkhead_tests::child::{Launch, PATIENCE, program};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::{net::UnixDatagram, time::timeout};

use super::{SITE, compile::large, envelope};
use crate::status::operations::root;

/// How often a watchdog wants a sign of life, microseconds.
const WATCHDOG: &str = "3000000";

fn deployed(file: &str) -> PathBuf {
    root().join("host/deploy").join(file)
}

/// The next message.
async fn next(systemd: &UnixDatagram) -> String {
    let mut bytes = vec![0; 65536];
    let count = timeout(PATIENCE, systemd.recv(&mut bytes)).await.expect("a message in time").unwrap();
    String::from_utf8(bytes[..count].to_vec()).unwrap()
}

/// Reads messages up to one that begins so, and returns all of them.
async fn until(systemd: &UnixDatagram, beginning: &str) -> Vec<String> {
    let mut received = Vec::new();
    loop {
        received.push(next(systemd).await);
        if received.last().unwrap().starts_with(beginning) {
            return received;
        }
    }
}

#[tokio::test]
async fn unit_learns_of_every_change() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("notify");
    let systemd = UnixDatagram::bind(&socket).unwrap();
    let launch = Launch::serve_with(folder.path(), SITE).env("NOTIFY_SOCKET", socket.to_str().unwrap());
    let mut host = launch.env("WATCHDOG_USEC", WATCHDOG).ready().await;
    let started = until(&systemd, "READY=1").await;
    let status = format!("STATUS=ready; {}, operators at ", host.address());
    assert_eq!(started[0], "STATUS=starting");
    assert!(started[started.len() - 2].starts_with(&status), "{started:?}");

    let alive = until(&systemd, "WATCHDOG=1").await;
    assert!(
        alive.iter().all(|message| message.starts_with("STATUS=") || message == "WATCHDOG=1"),
        "{alive:?}"
    );
    host.signal(Signal::HUP);
    let reloading = until(&systemd, "RELOADING=1").await;
    assert!(reloading.last().unwrap().contains("\nMONOTONIC_USEC="), "{reloading:?}");
    until(&systemd, "READY=1").await;
    until(&systemd, "WATCHDOG=1").await;
    host.signal(Signal::TERM);
    until(&systemd, "STOPPING=1").await;
    assert!(host.ended().await.success());
}

#[tokio::test]
async fn unit_is_ready_once_components_are() {
    let folder = TempDir::new().unwrap();
    let (socket, component) = (folder.path().join("notify"), folder.path().join("large.wasm"));
    let systemd = UnixDatagram::bind(&socket).unwrap();
    fs::write(&component, large()).unwrap();
    let config = format!("{SITE}[slots.captcha]\ncomponent = {component:?}\n");
    let launch = Launch::serve_with(folder.path(), &config).env("NOTIFY_SOCKET", socket.to_str().unwrap());
    let mut host = launch.listening().await;
    // The host answers first, and the service once it has started.
    let of_service = async {
        loop {
            let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
            let code = if body["code"].is_null() { &body["error"] } else { &body["code"] };
            assert_eq!((status, code.as_str()), (503, Some("starting")), "{body}");
            if body["code"].is_string() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, of_service).await.unwrap();
    host.signal(Signal::TERM);
    let received = until(&systemd, "STOPPING=1").await;
    assert!(received.iter().all(|message| message != "READY=1"), "{received:?}");
    assert!(host.ended().await.success(), "{}", host.text());
}

#[tokio::test]
async fn unsupported_notify_socket_is_warned_about() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), SITE).env("NOTIFY_SOCKET", "vsock:2:1").ready().await;
    let warned = host.line("systemd does not learn of this host's state").await;
    assert_eq!(warned["level"], "WARN");
    host.stop().await;
}

/// Runs systemd's own tool.
fn systemd_analyze(arguments: &[&str]) {
    let output = Command::new("systemd-analyze").args(arguments).output();
    let output = output.expect("systemd-analyze is installed: apt-get install systemd");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{arguments:?}: {said}");
}

#[test]
fn unit_is_sound_and_confined() {
    let folder = TempDir::new().unwrap();
    let text = fs::read_to_string(deployed("systemd/bulkhead.service")).unwrap();
    // The binary of this build, because none is installed.
    let installed = "/usr/bin/bulkhead";
    assert!(text.contains(installed));
    let unit = folder.path().join("bulkhead.service");
    fs::write(&unit, text.replace(installed, program().to_str().unwrap())).unwrap();
    let unit = unit.to_str().unwrap();
    systemd_analyze(&["verify", "--man=no", unit]);
    systemd_analyze(&["security", "--no-pager", "--offline=true", "--threshold=25", unit]);
}

async fn check(file: &Path, credentials: &Path) {
    let launch = Launch::bulkhead(&["config", "check", "--config", file.to_str().unwrap()]);
    let checked = launch.env("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap()).finish().await;
    assert!(checked.succeeded(), "{}: {}", file.display(), checked.stderr);
}

/// The key or the table that a line shows as an example, which prose after `# ` is not.
fn example(line: &str) -> Option<&str> {
    line.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
}

#[tokio::test]
async fn installed_configuration_and_examples_are_valid() {
    let folder = TempDir::new().unwrap();
    let written = deployed("bulkhead.toml");
    check(&written, folder.path()).await;
    let text = fs::read_to_string(written).unwrap();
    let lines: Vec<_> = text.lines().map(|line| example(line).unwrap_or(line)).collect();
    assert!(text.lines().filter_map(example).count() > 10, "{text}");
    fs::write(folder.path().join("secret_hmac-key"), "k".repeat(64)).unwrap();
    let all = folder.path().join("all.toml");
    fs::write(&all, lines.join("\n")).unwrap();
    check(&all, folder.path()).await;
}
