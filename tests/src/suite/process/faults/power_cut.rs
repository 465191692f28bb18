//! A power cut: a host that was killed, whose files are then cut or full of zeros, starts without help, with the old state or
//! the new one, and says what it dropped.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    guests::answering,
    operator::{self, Operator},
};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::process::{SITE, degraded, envelope, replayed, solved, valid, verdict};

/// What a disk may have made of a file that was being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Cut,
    Zeros,
    /// The tail is garbled, from a page of a database on.
    Garbled,
    /// One bit in the middle, which only a checksum shows: of a secret.
    Flipped,
}

impl Damage {
    fn apply(self, file: &Path) {
        let mut bytes = fs::read(file).unwrap();
        let damaged = match self {
            Self::Cut => bytes[..bytes.len() / 3].to_vec(),
            Self::Zeros => vec![0; bytes.len()],
            Self::Garbled => {
                let from = bytes.len() * 2 / 3 / 4096 * 4096;
                bytes[from..].iter_mut().for_each(|byte| *byte ^= 0x80);
                bytes
            }
            Self::Flipped => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                bytes
            }
        };
        // In place, so that the mode stays.
        fs::write(file, damaged).unwrap();
    }
}

/// The files below a folder that are not empty, by their names from there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(below) = pending.pop() {
        for entry in fs::read_dir(below).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else if entry.metadata().unwrap().len() > 0 {
                found.push(entry.path().strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Copies the data folder of a host that was killed.
fn copied(folder: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for file in files(folder) {
        let to = copy.path().join(&file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(folder.join(file), to).unwrap();
    }
    copy
}

/// Starts a host for each damage of each file that a killed host has left below a folder, checks it, and returns the files.
async fn each_damaged(
    killed: &Path,
    below: &str,
    config: &str,
    check: impl AsyncFn(&Bulkhead, &str, Damage),
) -> Vec<String> {
    let names = files(&killed.join("data")).into_iter().map(|file| file.display().to_string());
    let names: Vec<String> = names.filter(|name| name.starts_with(below)).collect();
    for name in &names {
        let flipped = name.starts_with("secrets/").then_some(Damage::Flipped);
        for damage in [Damage::Cut, Damage::Zeros, Damage::Garbled].into_iter().chain(flipped) {
            let folder = copied(killed);
            damage.apply(&folder.path().join("data").join(name));
            let host = Launch::serve_with(folder.path(), config).ready().await;
            check(&host, name.as_str(), damage).await;
            host.stop().await;
        }
    }
    names
}

async fn killed(mut host: Bulkhead) {
    host.signal(Signal::KILL);
    host.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_captcha_files_accept_nothing_twice() {
    let folder = TempDir::new().unwrap();
    let config = format!("{SITE}[keyvalue.stores.links]\n");
    let start = async || Launch::serve_with(folder.path(), &config).ready().await;
    let host = start().await;
    let first = solved(&host).await;
    assert_eq!(verdict(&host, &first).await, valid());
    // The first spend is in the database, the second in its log.
    host.stop().await;
    let host = start().await;
    let second = solved(&host).await;
    assert_eq!(verdict(&host, &second).await, valid());
    killed(host).await;

    let names =
        each_damaged(folder.path(), "", &config, async |host: &Bulkhead, name: &str, damage: Damage| {
            // A database that is cut or garbled may still be whole with what its log has.
            let database = name.strip_suffix("-wal").unwrap_or(name);
            let is_database = ["captcha.sqlite", "keyvalue.sqlite"].contains(&name);
            if name.starts_with("secrets/") || database != name || (is_database && damage == Damage::Zeros) {
                let checks = degraded(host).await;
                assert!(checks.contains(&format!("data file {database}")), "{name}, {damage:?}: {checks:?}");
            }
            for spent in [&first, &second] {
                assert_eq!(verdict(host, spent).await["valid"], false, "{name}, {damage:?}");
            }
            let fresh = solved(host).await;
            assert_eq!(verdict(host, &fresh).await, valid(), "{name}, {damage:?}");
            assert_eq!(verdict(host, &fresh).await, replayed(), "{name}, {damage:?}");
        });
    let names = names.await;
    let databases = ["captcha.sqlite", "captcha.sqlite-wal", "keyvalue.sqlite"];
    for wanted in databases.into_iter().chain(["secrets/captcha.key", "secrets/host.key"]) {
        assert!(names.iter().any(|name| name == wanted), "{wanted} of {names:?}");
    }
    assert!(names.iter().any(|name| name.ends_with(".cwasm")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_file_elsewhere_is_degraded() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("elsewhere.sqlite");
    fs::write(&file, "no database").unwrap();
    let database = format!("sqlite:{}", file.display());
    let launch = Launch::serve_with(folder.path(), SITE).env("BULKHEAD_CAPTCHA__DATABASE", &database);
    let host = launch.ready().await;
    let checks = degraded(&host).await;
    assert!(checks.contains(&format!("data file {}", file.display())), "{checks:?}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_slot_files_leave_a_version() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.wasm");
    let components = ['A', 'B', 'C', 'D'].map(|letter| answering(letter, "").component());
    fs::write(&file, &components[0]).unwrap();
    let config = format!("{}[slots.captcha]\ncomponent = {file:?}\n{SITE}", operator::tokens());
    let deploy = |host: &Bulkhead| Operator::new(&host.admin_url(""), operator::DEPLOY);
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    for component in [&components[3], &components[1]] {
        let version = deploy(&host).push(component.clone()).await;
        deploy(&host).swap(&version).await;
    }
    let active = deploy(&host).slot().await["active"]["component"].as_str().unwrap().to_owned();
    let active = format!("slots/captcha/{}.wasm", active.trim_start_matches("sha256:"));
    killed(host).await;

    let letter = async |host: &Bulkhead| -> Value {
        let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
        assert_eq!(status, 200, "{body}");
        body["challenge"]["letter"].clone()
    };
    let names = each_damaged(
        folder.path(),
        "slots/",
        &config,
        async |host: &Bulkhead, name: &str, damage: Damage| {
            let expected: &[&str] = match name {
                // The state before the last one may be that before the swap.
                "slots/captcha/book.json" => &["D", "B"],
                name if name == active => &["D"],
                _ => &["B"],
            };
            let letter_now = letter(host).await;
            assert!(
                expected.iter().any(|letter| letter_now == *letter),
                "{letter_now} of {name}, {damage:?}"
            );
            let checks = degraded(host).await;
            match name {
                "slots/captcha/book.json" => {
                    assert!(checks.contains(&format!("data file {name}")), "{checks:?}")
                }
                name if name == active => {
                    assert!(checks.iter().any(|check| check == "slot captcha"), "{checks:?}")
                }
                "slots/audit.jsonl" => {
                    drop(host.line("lines of the audit log are damaged and skipped").await)
                }
                _ => {}
            }
            let version = deploy(host).push(components[2].clone()).await;
            deploy(host).swap(&version).await;
            assert_eq!(letter(host).await, "C", "{name}, {damage:?}");
        },
    );
    let names = names.await;
    let states = ["slots/captcha/book.json", "slots/captcha/book.previous.json"];
    for wanted in ["slots/audit.jsonl", "slots/reserve", states[0], states[1], active.as_str()] {
        assert!(names.iter().any(|name| name == wanted), "{wanted} of {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_audit_log_is_reported() {
    let folder = TempDir::new().unwrap();
    let config = format!("{}{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let deploy = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let version = deploy.push(answering('B', "").component()).await;
    deploy.swap(&version).await;
    killed(host).await;
    fs::write(folder.path().join("data/slots/audit.jsonl"), "").unwrap();
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let line = host.line("the audit log lacks the last move of the slot; lines are lost").await;
    assert_eq!(line["slot"], "captcha", "{line}");
    host.stop().await;
}
