//! The folders that `component new` writes.

use std::fs;

use tempfile::TempDir;
use wit_parser::Resolve;

use super::{done, fails};

/// Every combination that has a template.
const TEMPLATES: [(&str, &[&str]); 4] = [
    ("rust", &["http", "captcha", "status", "triage", "answer"]),
    ("python", &["http", "captcha", "status"]),
    ("javascript", &["http", "captcha", "status"]),
    ("c", &["http"]),
];

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
