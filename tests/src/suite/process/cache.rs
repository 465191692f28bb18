//! The compiled-code cache between starts: used when it is whole and ours, and never otherwise.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    guests::Guest,
};
use tempfile::TempDir;

use super::{SITE, solved, valid, verdict};

const REFUSED: &str = "compiled code in the cache is not usable, compiling again";

/// The files of the cache, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.join("data/compiled")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn only_file(folder: &Path) -> PathBuf {
    let [file] = &files(folder)[..] else { panic!("{:?}", files(folder)) };
    file.clone()
}

/// Look-ups by result: hits, misses, faults.
async fn lookups(host: &Bulkhead) -> [f64; 3] {
    let mut counts = [0.0; 3];
    for (count, result) in counts.iter_mut().zip(["hit", "miss", "fault"]) {
        *count = host.metric(&format!("bulkhead_compile_cache_total{{result=\"{result}\"}}")).await;
    }
    counts
}

/// Starts once, serves, and gives back what the cache was good for.
async fn serve_once(folder: &Path) -> [f64; 3] {
    let host = Launch::serve_with(folder, SITE).ready().await;
    let counts = lookups(&host).await;
    let payload = solved(&host).await;
    assert_eq!(verdict(&host, &payload).await, valid());
    let refusals = host.said(REFUSED);
    let faults = counts[2];
    assert_eq!(refusals.len() as f64, faults, "a fault is logged once: {refusals:?}");
    assert!(refusals.iter().all(|line| line["level"] == "WARN"), "{refusals:?}");
    host.stop().await;
    counts
}

/// Runs `component check` of `guest.wasm` with the data folder in `folder` and a cache folder of the user.
async fn check(folder: &Path, user: &Path) {
    let check = ["component", "check", "--slot", "captcha", "guest.wasm", "--config", "bulkhead.toml"];
    let launch = Launch::bulkhead(&check).in_folder(folder).env("BULKHEAD_DATA_DIR", "data");
    let finished = launch.env("XDG_CACHE_HOME", user.to_str().unwrap()).finish().await;
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
}

const HIT: [f64; 3] = [1.0, 0.0, 0.0];
const MISS: [f64; 3] = [0.0, 1.0, 0.0];
const FAULT: [f64; 3] = [0.0, 0.0, 1.0];

#[tokio::test]
async fn a_second_start_compiles_nothing() {
    let folder = TempDir::new().unwrap();
    assert_eq!(serve_once(folder.path()).await, MISS);
    let before = fs::read(only_file(folder.path())).unwrap();
    assert_eq!(serve_once(folder.path()).await, HIT);
    assert_eq!(fs::read(only_file(folder.path())).unwrap(), before);
}

#[tokio::test]
async fn checked_component_is_not_compiled_again() {
    let (folder, user) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let guest = folder.path().join("guest.wasm");
    fs::write(&guest, Guest::default().component()).unwrap();
    let config = format!("[slots.captcha]\ncomponent = {guest:?}\n{SITE}");
    let start = async || {
        let host = Launch::serve_with(folder.path(), &config).ready().await;
        let counts = lookups(&host).await;
        host.stop().await;
        counts
    };
    assert_eq!(start().await, MISS);
    let file = only_file(folder.path());
    fs::remove_file(&file).unwrap();
    check(folder.path(), user.path()).await;
    assert_eq!(only_file(folder.path()), file);
    assert_eq!(start().await, HIT);
    assert_eq!(fs::read_dir(user.path()).unwrap().count(), 0, "the user's folder is not needed");
}

#[tokio::test]
async fn check_without_data_folder_has_own_cache() {
    let (folder, user) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(folder.path().join("bulkhead.toml"), SITE).unwrap();
    fs::write(folder.path().join("guest.wasm"), Guest::default().component()).unwrap();
    let own = user.path().join("bulkhead");
    let written = || {
        let files = fs::read_dir(own.join("compiled")).unwrap().map(|file| file.unwrap().path());
        let [file] = &files.collect::<Vec<_>>()[..] else { panic!("one component, one file") };
        fs::read(file).unwrap()
    };
    check(folder.path(), user.path()).await;
    let first = written();
    check(folder.path(), user.path()).await;
    assert_eq!(written(), first);
    assert!(own.join("secrets/host.key").is_file());
    assert!(!folder.path().join("data").exists());
}

#[tokio::test]
async fn tampered_cache_file_is_replaced() {
    let folder = TempDir::new().unwrap();
    serve_once(folder.path()).await;
    let file = only_file(folder.path());
    let good = fs::read(&file).unwrap();
    let flipped = |place: usize| {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        bytes
    };
    let tampered = [
        ("tag", flipped(0)),
        ("first byte of the code", flipped(32)),
        ("middle", flipped(good.len() / 2)),
        ("last byte", flipped(good.len() - 1)),
        ("cut short", good[..good.len() / 2].to_vec()),
        ("shorter than a tag", good[..16].to_vec()),
        ("empty", Vec::new()),
        ("longer", [&good[..], b"more"].concat()),
        ("no code at all", b"#!/bin/sh\n".repeat(10_000)),
    ];
    for (what, bytes) in tampered {
        fs::write(&file, bytes).unwrap();
        assert_eq!(serve_once(folder.path()).await, FAULT, "{what}");
        assert_eq!(only_file(folder.path()), file, "{what}");
        assert_ne!(fs::read(&file).unwrap().len(), 0, "{what}");
    }
    assert_eq!(serve_once(folder.path()).await, HIT, "what was compiled instead is kept");
}

/// Well signed, but for another component: swapping files must not swap logic.
#[tokio::test]
async fn another_component_s_code_is_not_accepted() {
    let folder = TempDir::new().unwrap();
    serve_once(folder.path()).await;
    let file = only_file(folder.path());
    let component = folder.path().join("guest.wasm");
    fs::write(&component, Guest::default().component()).unwrap();
    let guest =
        Launch::serve(folder.path()).env("BULKHEAD_SLOTS__CAPTCHA__COMPONENT", component.to_str().unwrap());
    guest.ready().await.stop().await;
    let of_guest = files(folder.path()).into_iter().find(|other| *other != file).unwrap();
    fs::copy(of_guest, &file).unwrap();
    assert_eq!(serve_once(folder.path()).await, FAULT);
}

/// Machine code that another host compiled, which is whole, but not ours.
#[tokio::test]
async fn code_of_another_folder_is_refused() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    serve_once(one.path()).await;
    serve_once(other.path()).await;
    let (foreign, own) = (only_file(one.path()), only_file(other.path()));
    assert_eq!(foreign.file_name(), own.file_name(), "the same component for the same engine");
    fs::copy(foreign, own).unwrap();
    assert_eq!(serve_once(other.path()).await, FAULT);
}

#[tokio::test]
async fn host_with_unusable_cache_serves() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/compiled"), "a file").unwrap();
    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    let payload = solved(&host).await;
    assert_eq!(verdict(&host, &payload).await, valid());
    let [line] = &host.said("compiled code is not cached, every start compiles")[..] else {
        panic!("{}", host.text())
    };
    assert!(line["error"].as_str().unwrap().contains("sandbox.cache"), "{line}");
    host.stop().await;
}
