//! Tests of the folders that templates become.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;

use super::*;
use crate::platform::tests::platform;

fn made(name: &str, language: &str, world: &str, folder: &Path) -> anyhow::Result<CommandReport> {
    create(&platform(), name, language, world, folder)
}

#[test]
fn every_template_is_written_complete() {
    for (language, world) in offered(&platform()) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("shop-guard");
        let report = made("shop-guard", language, world, &folder).unwrap();
        assert!(report.text.contains("shop-guard, a component for "), "{}", report.text);
        for name in ["README.md", ".gitignore", "wit"] {
            assert!(folder.join(name).exists(), "{language} {world}: {name}");
        }
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(!readme.contains("{{") && readme.contains("shop-guard"), "{language} {world}: {readme}");
        assert!(!folder.join(MANIFEST).exists());
    }
}

#[test]
fn templates_of_services_are_offered() {
    let offered = offered(&platform());
    for template in [("c", "http"), ("rust", "http"), ("rust", "greeter")] {
        assert!(offered.contains(&template), "{offered:?}");
    }
}

#[test]
fn world_may_have_its_full_name() {
    for world in ["greeter", "test:greeter/greeter", "test:greeter/greeter@0.1.0"] {
        let folder = tempfile::tempdir().unwrap();
        let report = made("guard", "rust", world, folder.path()).unwrap();
        assert!(report.text.contains("a component for test:greeter/greeter in rust"), "{}", report.text);
    }
}

#[test]
fn rust_brings_the_guest_crate() {
    let folder = tempfile::tempdir().unwrap();
    made("guard", "rust", "greeter", folder.path()).unwrap();
    let log = fs::read_to_string(folder.path().join("guest/src/log.rs")).unwrap();
    assert!(log.contains("\"../wit/deps/logging\""), "{log}");
    assert!(folder.path().join("wit/deps/logging/logging.wit").exists());
    let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"guard\""), "{manifest}");
}

#[test]
fn refusals_say_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str, language: &str, world: &str| {
        made(name, language, world, folder.path()).unwrap_err().to_string()
    };
    let text = error("guard", "c", "greeter");
    assert!(text.contains("no template in c for the world greeter") && text.contains("c: http"), "{text}");
    assert!(error("Guard", "rust", "greeter").contains("must begin with a lower-case letter"));
    assert!(error("wit-bindgen", "rust", "greeter").contains("is that of a dependency"));
    fs::write(folder.path().join("kept"), "").unwrap();
    let text = error("guard", "rust", "greeter");
    assert!(text.contains("has files already"), "{text}");
}
