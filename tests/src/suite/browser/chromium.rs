//! Drives Debian's Chromium with the npm package `playwright-core`.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/suite/browser");

/// For everything that one call does.
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
    let steps = visits.iter().map(|visit| {
        let mut step = json!({ "url": visit.url, "click": visit.click, "comesTo": visit.comes_to });
        if let Some(again) = visit.again {
            step["again"] = again.into();
        }
        step
    });
    let text = drive("visit.mjs", json!({ "visits": steps.collect::<Vec<_>>() })).await;
    let seen: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(seen.len(), visits.len());
    for (seen, visit) in seen.iter().zip(visits) {
        assert!(seen["failed"].is_null(), "{}: {}\n{seen}", visit.url, seen["failed"].as_str().unwrap());
    }
    seen
}

/// What a walk through a page showed.
#[derive(Debug, Deserialize)]
pub struct Walk {
    /// What expressions came to, by the names of the notes.
    pub notes: BTreeMap<String, Value>,
    /// Errors and warnings of the browser.
    pub complaints: Vec<String>,
    /// Method, address and `Authorization` of every request.
    pub asked: Vec<(String, String, Option<String>)>,
    /// Elements that had the keyboard's focus and did not show it.
    pub unseen: Vec<String>,
    /// Cookies that were kept.
    pub cookies: Vec<Value>,
    failed: Option<String>,
}

impl Walk {
    /// Asserts that the browser finds no fault: its log has each violation of a content security policy.
    pub fn assert_no_faults(&self) {
        // That is how Chromium takes note of answers that are errors.
        let is_fault = |text: &&String| !text.starts_with("Failed to load resource: the server");
        assert_eq!(self.complaints.iter().find(is_fault), None, "{:?}", self.complaints);
    }
}

/// Takes `steps`, each an array of a verb of `walk.mjs` and what it is about, in one page with a fresh profile.
pub async fn walk(steps: Vec<Value>) -> Walk {
    let walk: Walk = serde_json::from_str(&drive("walk.mjs", json!({ "steps": steps })).await).unwrap();
    if let Some(failed) = &walk.failed {
        panic!("{failed}\n{:#?}", walk.complaints);
    }
    walk
}

/// Runs a script with a task and with what it needs to start the browser; what it prints.
async fn drive(script: &str, mut task: Value) -> String {
    let profile = TempDir::new().unwrap();
    task["packages"] = json!(packages());
    task["chromium"] = json!(chromium());
    task["profile"] = json!(profile.path());
    let node = Command::new("node")
        .arg(Path::new(SCRIPTS).join(script))
        .arg(task.to_string())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, node).await.expect("the browser hangs").expect("node runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser cannot be driven: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A file of an npm package that the test set-up has installed.
pub fn package_file(path: &str) -> Vec<u8> {
    let path = packages().join("node_modules").join(path);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `just test` installs it", path.display()))
}

/// A folder of such a package.
pub fn package_folder(path: &str) -> PathBuf {
    packages().join("node_modules").join(path)
}

fn packages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools/node")
}

fn chromium() -> PathBuf {
    let folders = env::var_os("PATH").unwrap();
    let mut programs = env::split_paths(&folders).map(|folder| folder.join("chromium"));
    programs.find(|path| path.is_file()).expect("Chromium is installed; `just test` does that")
}
