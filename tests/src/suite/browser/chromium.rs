//! Drives Debian's Chromium with the npm package `playwright-core`.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/suite/browser/visit.mjs");

/// For all visits of one call together.
const PATIENCE: Duration = Duration::from_secs(300);

/// What to do on a page.
pub struct Visit<'a> {
    pub url: String,
    /// Selector of what is clicked once the page stands.
    pub click: &'a str,
    /// What the page's state must come to.
    pub comes_to: &'a str,
    /// What it must come to when the solution is sent again.
    pub again: Option<&'a str>,
}

/// Makes the visits one after the other in one browser with a fresh profile, and gives what was seen:
/// `answer`, `field` and `again` where the page had them, `complaints`, `origins`, `algorithms`.
pub async fn visit(visits: &[Visit<'_>]) -> Vec<Value> {
    let profile = TempDir::new().unwrap();
    let steps = visits.iter().map(|visit| {
        let mut step = json!({ "url": visit.url, "click": visit.click, "comesTo": visit.comes_to });
        if let Some(again) = visit.again {
            step["again"] = again.into();
        }
        step
    });
    let task = json!({
        "packages": packages(),
        "chromium": chromium(),
        "profile": profile.path(),
        "visits": steps.collect::<Vec<_>>(),
    });
    let node = Command::new("node")
        .arg(SCRIPT)
        .arg(task.to_string())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, node).await.expect("the browser hangs").expect("node runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser cannot be driven: {errors}");
    let seen: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(seen.len(), visits.len());
    for (seen, visit) in seen.iter().zip(visits) {
        assert!(seen["failed"].is_null(), "{}: {}\n{seen}", visit.url, seen["failed"].as_str().unwrap());
    }
    seen
}

/// A file of an npm package that the test set-up has installed.
pub fn package_file(path: &str) -> Vec<u8> {
    let path = packages().join("node_modules").join(path);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `just test` installs it", path.display()))
}

fn packages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools/node")
}

fn chromium() -> PathBuf {
    let folders = env::var_os("PATH").unwrap();
    let mut programs = env::split_paths(&folders).map(|folder| folder.join("chromium"));
    programs.find(|path| path.is_file()).expect("Chromium is installed; `just test` does that")
}
