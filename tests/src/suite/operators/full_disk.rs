//! A data folder that takes nothing more: a rollback counts all the same, and nothing else does.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bulkhead_tests::{child::Launch, host::eventually, servers::postgres::Postgres};
use rustix::process::Signal;
use tempfile::TempDir;

use super::*;
use crate::process::faults::full_disk::fill;

const ROLLBACKS: &str = "bulkhead_rollouts_total{change=\"automatic-rollback\",slot=\"captcha\"}";

/// A folder of slots that takes nothing while this lives.
struct Blocked {
    path: PathBuf,
    away: PathBuf,
}

impl Blocked {
    /// It gives nothing either: not even root writes into a file as if it were a folder.
    fn new(folder: &Path) -> Self {
        let blocked = Self::moved(folder, "data/slots");
        fs::write(&blocked.path, b"").unwrap();
        blocked
    }

    /// What is in it can be read: a writer locks it first, and nobody opens a folder to write.
    fn for_writes(folder: &Path) -> Self {
        let blocked = Self::moved(folder, "data/slots/lock");
        fs::create_dir(&blocked.path).unwrap();
        blocked
    }

    fn moved(folder: &Path, name: &str) -> Self {
        let (path, away) = (folder.join(name), folder.join("away"));
        fs::rename(&path, &away).unwrap();
        Self { path, away }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let removed = if self.path.is_dir() { fs::remove_dir } else { fs::remove_file };
        removed(self.path.as_path()).unwrap();
        fs::rename(&self.away, &self.path).unwrap();
    }
}

/// Why the host is degraded; none where it is not.
async fn degraded(host: &TestHost) -> Option<String> {
    let answer = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    assert_eq!(answer.status(), 200, "it serves on");
    let body: Value = answer.json().await.unwrap();
    let checks = body["degraded"].as_array()?;
    let check = checks.iter().find(|check| check["check"] == "slot captcha")?;
    Some(check["reason"].as_str().unwrap().to_owned())
}

async fn kept(host: &TestHost) -> bool {
    operator(host).slot().await["kept"].as_bool().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn unwritten_rollback_counts_in_memory() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let old = operator.slot().await["active"]["id"].clone();
    let version = operator.push(answering('B', "").component()).await;
    operator.swap(&version).await;
    assert_eq!((kept(&host).await, degraded(&host).await), (true, None));

    let blocked = Blocked::for_writes(host.folder());
    let slot = operator.change("rollback", json!({ "reason": "now" })).await;
    assert_eq!((&slot["kept"], &slot["active"]["id"], &slot["generation"]), (&json!(false), &old, &json!(2)));
    assert_eq!(letter(&host, 1).await, 'A');
    let reason = degraded(&host).await.unwrap();
    assert!(reason.contains(&format!("version {version} answers again after a restart")), "{reason}");
    assert!(reason.contains("check that its disk has room"), "{reason}");

    // What would come to answer is refused as ever.
    let generation = operator.generation().await;
    for (path, body) in [
        ("/swap", json!({ "version": version })),
        ("/canary", json!({ "version": version, "weight": 5 })),
        ("/shadow", json!({ "version": version })),
    ] {
        let mut body = body;
        body["generation"] = generation.into();
        let (status, error) = operator.post(path, &body).await;
        assert_eq!((status, error["error"].as_str()), (507, Some("storage")), "{path}: {error}");
    }
    assert_eq!(operator.try_push(answering('C', "").component()).await.0, 507);
    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    assert_eq!(admin.post_at("/v1/config/reload", &json!({})).await.0, 507);
    assert_eq!((letter(&host, 1).await, operator.generation().await), ('A', 2));

    drop(blocked);
    eventually("it is written", async || kept(&host).await).await;
    assert_eq!(degraded(&host).await, None);
    let (_, audit) = admin.get("/v1/audit?slot=captcha").await;
    let entries = audit["entries"].as_array().unwrap();
    assert_eq!(entries.iter().filter(|entry| entry["reason"] == "now").count(), 2, "each move once: {audit}");
    let component = answering('A', "").component();
    let host = hosting_a().component(component).folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn change_after_rollback_writes_both() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let b = operator.push(answering('B', "").component()).await;
    let c = operator.push(answering('C', "").component()).await;
    operator.swap(&b).await;
    let blocked = Blocked::new(host.folder());
    operator.change("rollback", json!({})).await;
    drop(blocked);
    let slot = operator.swap(&c).await;
    assert_eq!((&slot["kept"], &slot["generation"]), (&json!(true), &json!(3)));
    let host = hosting_a().folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'C');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn automatic_rollback_precedes_its_write() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(trapping().component()).await;
    operator.swap(&version).await;
    let blocked = Blocked::new(host.folder());
    for client in 0..20 {
        assert_eq!(ask(&host, client).await.status(), 500);
    }
    eventually("it is rolled back", async || host.metric(ROLLBACKS).await == 1.0).await;
    assert_eq!((letter(&host, 1).await, kept(&host).await), ('A', false));
    assert!(degraded(&host).await.is_some());
    drop(blocked);
    eventually("it is written", async || kept(&host).await).await;
    let host = hosting_a().folder(host.stop().await).start().await;
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_before_the_write_restores_old_state() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.wasm");
    fs::write(&file, answering('A', "").component()).unwrap();
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let config = format!("{}{services}{SITE}[slots.captcha]\ncomponent = {file:?}\n", operator::tokens());
    let start = async || Launch::serve_with(folder.path(), &config).ready().await;
    let mut host = start().await;
    let first = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let version = first.push(answering('B', "").component()).await;
    first.swap(&version).await;
    let blocked = Blocked::new(folder.path());
    assert_eq!(first.change("rollback", json!({})).await["kept"], false);
    let said = "the change could not be written; it is in effect, but a restart restores the old state";
    let line = host.line(said).await;
    assert_eq!(line["after_restart"], version.as_str(), "{line}");
    host.signal(Signal::KILL);
    host.ended().await;
    drop(blocked);
    let host = start().await;
    let slot = Operator::new(&host.admin_url(""), operator::DEPLOY).slot().await;
    assert_eq!((&slot["active"]["id"], &slot["kept"]), (&json!(version), &json!(true)));
    host.stop().await;
}

/// One that was given up before a restart, or never made, is there for the next rollback.
#[tokio::test(flavor = "multi_thread")]
async fn start_makes_the_reserve() {
    let host = hosting_a().start().await;
    operator(&host).push(answering('B', "").component()).await;
    let reserve = host.folder().join("data/slots/reserve");
    let folder = host.stop().await;
    fs::remove_file(&reserve).unwrap();
    let host = hosting_a().folder(folder).start().await;
    eventually("the reserve is made", async || reserve.exists()).await;
    host.stop().await;
}

/// Hosts that share their state: the rollback is one for all, whosever disk is full.
#[tokio::test(flavor = "multi_thread")]
async fn shared_rollback_precedes_the_disk() {
    let postgres = Postgres::start();
    let hosting = || {
        hosting_a()
            .env("BULKHEAD_CAPTCHA__DATABASE", &postgres.url())
            .env("BULKHEAD_SHARING__POLL_MS", "200")
            .start()
    };
    let (one, two) = (hosting().await, hosting().await);
    let answers = async |host: &TestHost, version: &str| {
        let answers = async || operator(host).slot().await["active"]["id"] == version;
        eventually("the host has the version", answers).await;
    };
    let a = operator(&one).slot().await["active"]["id"].as_str().unwrap().to_owned();
    let b = operator(&one).push(answering('B', "").component()).await;
    for on_its_own in [false, true] {
        operator(&one).swap(&b).await;
        answers(&two, &b).await;
        let blocked = Blocked::new(two.folder());
        let host = if on_its_own { &two } else { &one };
        let slot = operator(host).change("rollback", json!({})).await;
        assert_eq!(slot["kept"], !on_its_own, "{slot}");
        for host in [&one, &two] {
            answers(host, &a).await;
            assert_eq!(letter(host, 1).await, 'A');
        }
        assert!(!kept(&two).await);
        // What a host follows is written a moment after it counts.
        eventually("the other host has written it", async || kept(&one).await).await;
        drop(blocked);
        eventually("it is written", async || kept(&two).await).await;
    }
    for host in [one, two] {
        host.stop().await;
    }
}

/// A disk that is full in earnest.
#[tokio::test(flavor = "multi_thread")]
async fn full_disk_releases_reserve_for_rollback() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.wasm");
    fs::write(&file, answering('A', "").component()).unwrap();
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let config = format!("{}{services}{SITE}[slots.captcha]\ncomponent = {file:?}\n", operator::tokens());
    let host = Launch::serve_with_small_disk(folder.path(), &config, 24 << 20).ready().await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let data = host.root().join(folder.path().strip_prefix("/").unwrap()).join("data");
    let (filler, reserve) = (data.join("filler"), data.join("slots/reserve"));
    let b = operator.push(answering('B', "").component()).await;
    let c = operator.push(answering('C', "").component()).await;
    operator.swap(&b).await;
    assert!(reserve.exists());

    fill(&filler);
    let generation = operator.generation().await;
    for (path, mut body) in [
        ("/swap", json!({ "version": c })),
        ("/canary", json!({ "version": c, "weight": 5 })),
        ("/shadow", json!({ "version": c })),
    ] {
        body["generation"] = generation.into();
        let (status, error) = operator.post(path, &body).await;
        assert_eq!((status, error["error"].as_str()), (507, Some("storage")), "{path}: {error}");
    }
    let large = super::proof::padded(answering('D', "").component(), 1 << 20);
    assert_eq!(operator.try_push(large).await.0, 507);
    assert!(reserve.exists(), "what can be refused does not have it");
    let log = fs::read_to_string(data.join("slots/audit.jsonl")).unwrap();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(line["generation"].as_u64().filter(|made| *made > generation), None, "{line}");
    }
    let slot = operator.change("rollback", json!({})).await;
    assert_eq!((&slot["kept"], &slot["generation"]), (&json!(true), &json!(2)), "{}", host.text());
    assert!(!reserve.exists());
    // What it has left of the reserve's room is for the next one.
    let body = json!({ "version": b, "generation": operator.generation().await });
    let (status, error) = operator.post("/swap", &body).await;
    assert_eq!((status, error["error"].as_str()), (507, Some("storage")), "{error}");
    fs::remove_file(&filler).unwrap();
    eventually("the reserve is made again", async || reserve.exists()).await;

    operator.swap(&b).await;
    fill(&filler);
    fs::remove_file(&reserve).unwrap();
    fill(&data.join("filler-of-the-reserve"));
    assert_eq!(operator.change("rollback", json!({})).await["kept"], false);
    assert!(!reserve.exists());
    fs::remove_file(&filler).unwrap();
    eventually("it is written", async || operator.slot().await["kept"] == true).await;
    eventually("the reserve is made again", async || reserve.exists()).await;
    host.stop().await;
}
