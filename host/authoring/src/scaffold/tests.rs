//! Tests of the folders that templates become.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;

use super::*;

#[test]
fn every_template_is_written_complete() {
    for (language, world) in offered() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("shop-guard");
        let report = create("bulkhead", "shop-guard", language, world, &folder).unwrap();
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
fn rust_has_every_world() {
    let worlds: Vec<&str> =
        offered().into_iter().filter(|(language, _)| *language == "rust").map(|(_, world)| world).collect();
    assert_eq!(worlds, ["answer", "captcha", "http", "status", "triage"]);
}

#[test]
fn rust_brings_the_guest_crate() {
    let folder = tempfile::tempdir().unwrap();
    create("bulkhead", "guard", "rust", "captcha", folder.path()).unwrap();
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
        create("bulkhead", name, language, world, folder.path()).unwrap_err().to_string()
    };
    let text = error("guard", "c", "triage");
    assert!(text.contains("no template in c for the world triage") && text.contains("c: http"), "{text}");
    assert!(error("Guard", "rust", "captcha").contains("must begin with a lower-case letter"));
    assert!(error("wit-bindgen", "rust", "captcha").contains("is that of a dependency"));
    fs::write(folder.path().join("kept"), "").unwrap();
    let text = error("guard", "rust", "captcha");
    assert!(text.contains("has files already"), "{text}");
}
