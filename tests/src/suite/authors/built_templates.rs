//! The templates in Python and JavaScript, built with the tools of the set-up. What is built is kept by the digest of its
//! sources, and so is compiled code.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use bulkhead_tests::{TestHost, host::program};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

use super::done;

/// For a build or a compilation on a busy machine.
const PATIENCE: Duration = Duration::from_secs(1200);
/// The languages, and what their components of `http` say.
const LANGUAGES: [(&str, &str); 2] =
    [("javascript", "hello from JavaScript\n"), ("python", "hello from Python\n")];

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").canonicalize().unwrap()
}

/// The folder of what is kept.
fn kept() -> PathBuf {
    target().join("template-builds")
}

/// The digest of the files of a folder, with their paths.
fn digest(folder: &Path) -> String {
    let (mut folders, mut files, mut hash) = (vec![folder.to_owned()], Vec::new(), Sha256::new());
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    for file in files {
        hash.update(file.strip_prefix(folder).unwrap().as_os_str().as_encoded_bytes());
        hash.update(fs::read(&file).unwrap());
    }
    hex::encode(hash.finalize())
}

/// Runs a program to its end, which must be a good one.
async fn run(mut command: Command) -> String {
    let ended = timeout(PATIENCE, command.kill_on_drop(true).output()).await.expect("it ends").unwrap();
    let [stdout, stderr] =
        [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(ended.status.success(), "{stdout}{stderr}");
    stdout
}

/// Builds a template as its README says. Returns the component, whose file stays as it is.
async fn built(language: &str, world: &str) -> PathBuf {
    let folder = TempDir::new().unwrap();
    done(folder.path(), &["component", "new", "mine", "--lang", language, "--world", world]).await;
    let made = folder.path().join("mine");
    let component = kept().join(format!("{}.wasm", digest(&made)));
    if component.is_file() {
        return component;
    }
    let tools = target().join("test-tools");
    let mut build;
    if language == "python" {
        let of_slot = format!("bulkhead:{world}/{world}");
        let name = if world == "http" { "wasi:http/proxy" } else { &of_slot };
        build = Command::new(tools.join("componentize-py/bin/componentize-py"));
        build.args(["-d", "wit", "-w", name, "componentize", "app", "-o", "mine.wasm"]);
    } else {
        let packages = tools.join("componentize-js/node_modules");
        std::os::unix::fs::symlink(packages, made.join("node_modules")).unwrap();
        build = Command::new("node");
        build.arg("build.mjs");
    }
    build.current_dir(&made);
    run(build).await;
    fs::create_dir_all(kept()).unwrap();
    // In one step: a build that is interrupted leaves no part of a component.
    let part = component.with_extension("part");
    fs::copy(made.join("mine.wasm"), &part).unwrap();
    fs::rename(&part, &component).unwrap();
    component
}

#[tokio::test(flavor = "multi_thread")]
async fn http_templates_build_and_answer() {
    let (mut config, mut builder) = (String::new(), TestHost::builder());
    for name in ["embedding", "tickets", "status", "captcha"] {
        config.push_str(&format!("[services.{name}]\nenabled = false\n"));
    }
    for (language, _) in LANGUAGES {
        config.push_str(&format!("[apps.{language}]\npath_prefix = '/{language}'\nstrip_prefix = true\n"));
        builder = builder.app(language, fs::read(built(language, "http").await).unwrap());
    }
    let host = builder.config(&config).start().await;
    for (language, expected) in LANGUAGES {
        let url = |path: &str| host.url(&format!("/{language}{path}"));
        let greeting = host.client().get(url("/hello")).send().await.unwrap();
        assert_eq!(greeting.text().await.unwrap(), expected);
        assert_eq!(host.client().get(url("/elsewhere")).send().await.unwrap().status(), 404, "{language}");
        let echoed = host.client().post(url("/any")).body("echo").send().await.unwrap();
        assert_eq!(echoed.text().await.unwrap(), "echo", "{language}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_of_slots_build_and_fit() {
    let folder = TempDir::new().unwrap();
    for slot in ["captcha", "status"] {
        // As the README says: more than the defaults.
        let limits = "memory_bytes = 268435456\ntable_elements = 100000\ncpu_ms = 10000";
        let config = folder.path().join(format!("{slot}.toml"));
        fs::write(&config, format!("[slots.{slot}]\n{limits}\n")).unwrap();
        for (language, _) in LANGUAGES {
            let component = built(language, slot).await;
            let mut check = Command::new(program());
            check.args(["component", "check", "--slot", slot]).arg(component).arg("--config").arg(&config);
            check.env_clear().env("XDG_CACHE_HOME", kept()).current_dir(folder.path());
            let said = run(check).await;
            assert!(said.contains(&format!("may answer for slot {slot}")), "{language}: {said}");
        }
    }
}
