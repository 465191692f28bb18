//! A binary of its own with one service, which the platform does not know: `tests/adder`.

mod added_slot;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use bulkhead_tests::{
    child::{Bulkhead, Finished, Launch},
    guests::{self, Guest},
    host::eventually,
    operator::{self, Operator},
    samples::Samples,
};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::chromium::walk;

const PROGRAM: &str = "bulkhead-adder";
const WORLD: &str = "bulkhead:adder/adder@0.1.0";

/// Components in WebAssembly text: one adds 1, the other 2.
const ONE: &str = include_str!("../../adder/guests/one.wat");
const TWO: &str = include_str!("../../adder/guests/two.wat");
/// One that fails its own test.
const FAILING: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "add") (param i32) (result i32) (local.get 0))
    (func (export "self-test") (result i32) unreachable))"#;

const SWAPS: usize = 10;
const CLIENTS: u64 = 4;

fn component(text: &str) -> Vec<u8> {
    guests::of_world(text, &Path::new(env!("CARGO_MANIFEST_DIR")).join("adder/wit"), WORLD)
}

/// The text of `path`, for a command line.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes a configuration file with the operators' tokens and the component that adds 1.
fn configured(folder: &Path) -> PathBuf {
    let (one, file) = (folder.join("one.wasm"), folder.join("adder.toml"));
    fs::write(&one, component(ONE)).unwrap();
    fs::write(&file, format!("{}[slots.adder]\ncomponent = {one:?}\n", operator::tokens())).unwrap();
    file
}

/// Serves from a folder with the component that adds 1.
async fn serving(folder: &Path) -> Bulkhead {
    launch(folder).ready().await
}

fn launch(folder: &Path) -> Launch {
    let (config, data) = (configured(folder), folder.join("data"));
    let arguments = ["serve", "--data-dir", text(&data), "--config", text(&config)];
    Launch::binary(PROGRAM, &arguments).ephemeral()
}

fn operator(host: &Bulkhead) -> Operator {
    Operator::new(&host.admin_url(""), operator::DEPLOY).of("adder")
}

/// What the component adds to 5, which must be answered.
async fn added(host: &Bulkhead) -> u64 {
    host.json(&host.url("/sum/5")).await["sum"].as_u64().unwrap() - 5
}

/// How many calls the capability has counted.
async fn counted(host: &Bulkhead) -> Value {
    host.json(&host.url("/total")).await["total"].clone()
}

/// The value of a series, which must exist.
async fn metric(host: &Bulkhead, series: &str) -> f64 {
    let page = host.client().get(host.admin_url("/metrics")).send().await.unwrap().text().await.unwrap();
    let samples = Samples::parse(&page);
    *samples.get(series).unwrap_or_else(|| panic!("no series {series} in\n{page}"))
}

/// Runs a command in a folder to its end.
async fn run(folder: &Path, arguments: &[&str]) -> Finished {
    let launch = Launch::binary(PROGRAM, arguments).in_folder(folder);
    launch.env("BULKHEAD_DATA_DIR", "data").env("HOME", "/").finish().await
}

#[tokio::test(flavor = "multi_thread")]
async fn swaps_under_load_lose_no_request() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let operator = operator(&host);
    let mut versions = vec![operator.slot().await["active"]["id"].as_str().unwrap().to_owned()];
    versions.push(operator.push(component(TWO)).await);
    let (done, answers) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    let answered = || answers.iter().map(|answers| answers.load(Ordering::Relaxed)).sum::<u64>();
    let load = async |_client: u64| {
        while !done.load(Ordering::Relaxed) {
            let version = usize::try_from(added(&host).await).unwrap() - 1;
            answers[version].fetch_add(1, Ordering::Relaxed);
        }
    };
    let swapping = async {
        for round in 1..=SWAPS {
            operator.swap(&versions[round % 2]).await;
            // Calls that begin after the answer are the new version's.
            assert_eq!(added(&host).await, if round % 2 == 0 { 1 } else { 2 }, "in round {round}");
            let before = answered();
            eventually("the load goes on", async || answered() >= before + CLIENTS).await;
        }
        done.store(true, Ordering::Relaxed);
    };
    join(join_all((0..CLIENTS).map(load)), swapping).await;
    let of_both = answers.each_ref().map(|answers| answers.load(Ordering::Relaxed));
    assert!(of_both.iter().all(|answers| *answers >= SWAPS as u64), "answers of both: {of_both:?}");
    let all = (answered() + SWAPS as u64) as f64;
    assert_eq!(metric(&host, "bulkhead_calls_total{outcome=\"ok\",slot=\"adder\"}").await, all);
    let swaps = "bulkhead_rollouts_total{change=\"swap\",slot=\"adder\"}";
    assert_eq!(metric(&host, swaps).await, SWAPS as f64);
    // The service's own metric, and its capability's state.
    assert_eq!(metric(&host, "adder_requests_total{outcome=\"answered\"}").await, all);
    assert_eq!(metric(&host, "adder_requests_total{outcome=\"failed\"}").await, 0.0);
    assert_eq!(counted(&host).await.as_f64(), Some(all));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn canary_answers_its_share_until_promoted() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let operator = operator(&host);
    let two = operator.push(component(TWO)).await;
    operator.change("canary", json!({ "version": two, "weight": 50 })).await;
    let mut seen = BTreeSet::new();
    for _ in 0..100 {
        seen.insert(added(&host).await);
    }
    assert_eq!(seen, BTreeSet::from([1, 2]));
    operator.change("promote", json!({})).await;
    assert_eq!(added(&host).await, 2);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_reports_differences_and_counts_nothing() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let operator = operator(&host);
    let two = operator.push(component(TWO)).await;
    operator.change("shadow", json!({ "version": two })).await;
    let report = async || operator.get("/v1/slots/adder/shadow").await.1;
    for calls in 1..=5 {
        assert_eq!(added(&host).await, 1);
        eventually("the copy is compared", async || report().await["different"] == calls).await;
    }
    let report = report().await;
    let difference = &report["differences"][0];
    assert_eq!(difference["call"], "add");
    assert_eq!(difference["members"], json!([{ "name": "sum", "live": "6", "shadow": "7" }]));
    assert_eq!(counted(&host).await, 5, "what the copies count is not kept");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_returns_to_version_before() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let operator = operator(&host);
    let two = operator.push(component(TWO)).await;
    operator.swap(&two).await;
    assert_eq!(added(&host).await, 2);
    operator.change("rollback", json!({})).await;
    assert_eq!(added(&host).await, 1);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn component_with_failing_test_may_not_answer() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let (status, refused) = operator(&host).try_push(component(FAILING)).await;
    assert_eq!(status, 422, "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("self-test"), "{refused}");
    assert_eq!(added(&host).await, 1);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_is_listed_by_every_interface() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let (status, listed) = operator(&host).get("/v1/slots").await;
    assert_eq!(status, 200, "{listed}");
    let slots = listed["slots"].as_array().unwrap();
    let slots: Vec<_> = slots.iter().map(|slot| (&slot["slot"], &slot["world"])).collect();
    assert_eq!(slots, [(&json!("adder"), &json!(WORLD))]);
    let launch = Launch::binary(PROGRAM, &["component", "list"]);
    let launch = launch.env("BULKHEAD_ADMIN_URL", &host.admin_url(""));
    let list = launch.env("BULKHEAD_ADMIN_TOKEN", operator::READ).finish().await;
    assert!(list.succeeded(), "{}", list.stderr);
    assert!(list.stdout.contains("\nadder  0 "), "{}", list.stdout);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slot_is_listed_by_console() {
    let folder = TempDir::new().unwrap();
    let host = serving(folder.path()).await;
    let seen = walk(vec![
        json!(["go", host.admin_url("/console")]),
        json!(["fill", "#token", operator::READ]),
        json!(["click", "main >> role=button[name=/^Log in/] >> visible=true"]),
        json!(["see", "h1", "Slots"]),
        json!(["see", ".card", "adder"]),
        json!(["click", "main >> role=link[name=\"adder\"]"]),
        json!(["see", "h2", "Versions"]),
    ])
    .await;
    seen.assert_no_faults();
    host.stop().await;
}

#[tokio::test]
async fn reference_has_table_of_own_service() {
    let folder = TempDir::new().unwrap();
    let reference = run(folder.path(), &["config", "reference"]).await;
    assert!(reference.succeeded(), "{}", reference.stderr);
    let row = "| `adder.largest` | 1000000 | 1 to 4000000000 | Largest number that is added to |";
    assert!(reference.stdout.lines().any(|line| line == row), "{}", reference.stdout);
    let of_others = reference.stdout.lines().filter(|line| line.starts_with("| `captcha."));
    assert_eq!(of_others.count(), 0, "{}", reference.stdout);
}

#[tokio::test]
async fn wrong_value_of_own_table_is_named() {
    let folder = TempDir::new().unwrap();
    let check = ["config", "check", "--config", "adder.toml"];
    for (config, code, said) in [
        ("[adder]\nlargest = 7\n", 0, ""),
        ("[adder]\nlargest = 0\n", 1, "adder.toml line 2: adder.largest: "),
        ("[captcha]\n", 1, "adder.toml line 1: captcha: "),
    ] {
        fs::write(folder.path().join("adder.toml"), config).unwrap();
        let finished = run(folder.path(), &check).await;
        assert_eq!(finished.status.code(), Some(code), "{config}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{config}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn own_table_is_read_by_own_service() {
    let folder = TempDir::new().unwrap();
    let host = launch(folder.path()).env("BULKHEAD_ADDER__LARGEST", "5").ready().await;
    assert_eq!(added(&host).await, 1);
    let refused = host.client().get(host.url("/sum/6")).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.json::<Value>().await.unwrap()["error"], "number_too_large");
    assert_eq!(metric(&host, "adder_requests_total{outcome=\"failed\"}").await, 1.0);
    host.stop().await;
}

#[tokio::test]
async fn component_check_accepts_good_and_refuses_bad() {
    let folder = TempDir::new().unwrap();
    for (wasm, code, said) in [
        (component(ONE), 0, "guest.wasm may answer for slot adder: sha256:"),
        (component(TWO), 0, "guest.wasm may answer for slot adder: sha256:"),
        (component(FAILING), 3, "the component's self-test failed"),
        (Guest::default().component(), 3, "it does not export add"),
        (b"garbage".to_vec(), 3, "not a WebAssembly component"),
    ] {
        fs::write(folder.path().join("guest.wasm"), wasm).unwrap();
        let checked = run(folder.path(), &["component", "check", "--slot", "adder", "guest.wasm"]).await;
        assert_eq!(checked.status.code(), Some(code), "{said}: {}", checked.stderr);
        let output = format!("{}{}", checked.stdout, checked.stderr);
        assert!(output.contains(said), "{said}: {output}");
    }
    assert!(!folder.path().join("data").exists());
}

#[tokio::test]
async fn inspection_finds_world_of_own_service() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("guest.wasm"), component(ONE)).unwrap();
    let inspected = run(folder.path(), &["component", "inspect", "--json", "guest.wasm"]).await;
    assert!(inspected.succeeded(), "{}", inspected.stderr);
    let found: Value = serde_json::from_str(&inspected.stdout).unwrap();
    assert_eq!((&found["world"], &found["slot"]), (&json!(WORLD), &json!("adder")), "{found}");
    assert_eq!(found["imports"][0]["status"], "granted", "{found}");
}

#[tokio::test]
async fn author_commands_have_files_of_services() {
    let folder = TempDir::new().unwrap();
    let exported = run(folder.path(), &["wit", "export", "one", "--world", "adder"]).await;
    assert!(exported.succeeded(), "{}", exported.stderr);
    assert!(folder.path().join("one/adder.wit").is_file());
    assert!(run(folder.path(), &["wit", "export", "all"]).await.succeeded());
    let packages: BTreeSet<_> =
        fs::read_dir(folder.path().join("all")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(packages, BTreeSet::from(["adder", "host"].map(Into::into)));
    for arguments in [
        &["component", "new", "mine", "--lang", "rust", "--world", "adder"][..],
        &["component", "new", "mine", "--lang", "rust", "--world", "captcha"],
    ] {
        let refused = run(folder.path(), arguments).await;
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        let said = "there are c: http; javascript: http; python: http; rust: http";
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn commands_of_other_services_are_missing() {
    let folder = TempDir::new().unwrap();
    let version = run(folder.path(), &["--version"]).await;
    assert_eq!(version.stdout, format!("{PROGRAM} {}\n", env!("CARGO_PKG_VERSION")));
    for arguments in [
        &["captcha", "site", "list"][..],
        &["kb", "info"],
        &["model", "list"],
        &["component", "check", "--slot", "captcha", "guest.wasm"],
        &["serve", "--model", "one"],
    ] {
        let finished = run(folder.path(), arguments).await;
        assert_eq!(finished.status.code(), Some(2), "{arguments:?}: {}", finished.stderr);
    }
}
