//! The folders that `component new` writes.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    host::program_called,
};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};
use wit_parser::Resolve;

use super::{done, fails};

/// Every combination that has a template.
const TEMPLATES: [(&str, &[&str]); 4] = [
    ("rust", &["http", "captcha", "status", "triage", "answer"]),
    ("python", &["http", "captcha", "status"]),
    ("javascript", &["http", "captcha", "status"]),
    ("c", &["http"]),
];
/// For the first build, which compiles the macros of the bindings on a busy machine.
const BUILD: Duration = Duration::from_secs(1200);

#[tokio::test]
async fn every_template_has_readme_and_wit() {
    let folder = TempDir::new().unwrap();
    for (language, worlds) in TEMPLATES {
        for world in worlds {
            let name = format!("{language}-{world}");
            let said =
                done(folder.path(), &["component", "new", &name, "--lang", language, "--world", world]).await;
            assert!(said.contains(&format!("to {name}: {name}, a component for ")), "{said}");
            let made = folder.path().join(&name);
            let readme = fs::read_to_string(made.join("README.md")).unwrap();
            assert!(readme.contains("bulkhead component inspect "), "{readme}");
            let mut resolve = Resolve::default();
            resolve.push_dir(made.join("wit")).unwrap();
            assert_eq!(made.join("cases.jsonl").exists(), *world != "http", "{name}");
        }
    }
}

#[tokio::test]
async fn missing_combination_lists_what_there_is() {
    let folder = TempDir::new().unwrap();
    let new = |language: &'static str, name: &'static str| {
        ["component", "new", name, "--lang", language, "--world", "triage"]
    };
    let said = fails(folder.path(), &new("python", "mine"), 2).await;
    assert!(said.contains("there is no template in python for the world triage"), "{said}");
    assert!(
        said.contains("python: captcha, http, status; rust: answer, captcha, http, status, triage"),
        "{said}"
    );
    let said = fails(folder.path(), &new("rust", "Mine"), 2).await;
    assert!(said.contains("must begin with a lower-case letter"), "{said}");
    done(folder.path(), &new("rust", "mine")).await;
    let said = fails(folder.path(), &new("rust", "mine"), 1).await;
    assert!(said.contains("mine has files already"), "{said}");
}

/// Writes every Rust template under one path of the target folder, so that cargo finds what it has built before. Returns
/// each world with its folder.
async fn written(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    fs::create_dir_all(folder).unwrap();
    let [("rust", worlds), ..] = TEMPLATES else { panic!("Rust comes first") };
    for world in worlds {
        done(folder, &["component", "new", &format!("of-{world}"), "--lang", "rust", "--world", world]).await;
    }
    worlds.iter().map(|world| (*world, folder.join(format!("of-{world}")))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_templates_build_and_answer() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host").canonicalize().unwrap();
    let templates = written(&host.join("../target/templates")).await;
    let mut build = Command::new(program_called("setup"));
    build.arg("crates").args(templates.iter().map(|(_, folder)| folder));
    // The set-up finds the workspace from its own manifest's folder.
    build.env("CARGO_MANIFEST_DIR", host.join("setup")).kill_on_drop(true);
    let built = timeout(BUILD, build.output()).await.expect("the build ends").unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for (world, folder) in templates {
        let file = format!("of_{world}.wasm");
        if world == "http" {
            greets(&folder.join(file)).await;
            continue;
        }
        let said = done(&folder, &["component", "test", &file, "--cases", "cases.jsonl"]).await;
        assert!(said.contains(" passed, 0 failed"), "{said}");
        let said = done(&folder, &["component", "check", "--slot", world, &file]).await;
        assert!(said.contains(&format!("may answer for slot {world}")), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c_template_builds_and_answers() {
    let folder = TempDir::new().unwrap();
    done(folder.path(), &["component", "new", "mine", "--lang", "c", "--world", "http"]).await;
    let made = folder.path().join("mine");
    let mut make = Command::new("make");
    make.current_dir(&made).kill_on_drop(true);
    let built = timeout(BUILD, make.output()).await.expect("the build ends").unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    greeting(&made.join("mine.wasm"), folder.path(), "hello from C\n").await.stop().await;
}

/// Runs a component of `wasi:http`, which greets as its README says.
async fn greeting(file: &Path, cache: &Path, expected: &str) -> Bulkhead {
    let arguments = ["run", file.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log-format", "json"];
    let launch = Launch::bulkhead(&arguments).env("XDG_CACHE_HOME", cache.to_str().unwrap());
    let host = launch.ready().await;
    let greeting = host.client().get(host.url("/hello")).send().await.unwrap();
    assert_eq!(greeting.text().await.unwrap(), expected);
    assert_eq!(host.status(&host.url("/elsewhere")).await, 404);
    host
}

/// Runs the component of Rust's template, which greets, and echoes a long body.
async fn greets(file: &Path) {
    let cache = TempDir::new().unwrap();
    let host = greeting(file, cache.path(), "hello from Rust\n").await;
    let body = "echo ".repeat(20_000);
    let echoed = host.client().post(host.url("/any")).body(body.clone()).send().await.unwrap();
    assert_eq!(echoed.text().await.unwrap(), body);
    host.stop().await;
}
