//! The service of `tests/adder` is made without a change to the platform, so that nothing of the platform names it.

use std::path::{Path, PathBuf};

use super::{names, root};

/// Name of the service, in lower case.
const SERVICE: &str = "adder";
/// Folders of the platform, and of the services that come with it.
const FOLDERS: [&str; 3] = ["host", "components", "wit"];

/// Returns whether a text has the name of the service as a word, also as a part of a name with dashes or underscores.
fn has_name(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.match_indices(SERVICE).any(|(at, name)| {
        !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
            && !text[at + name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
    })
}

/// Adds every file below `folder` whose text or path names the service.
fn naming(folder: &Path, found: &mut Vec<PathBuf>) {
    for name in names(folder) {
        let path = folder.join(&name);
        if path.is_dir() {
            naming(&path, found);
            continue;
        }
        // What is no text names nothing.
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap_or_default();
        if has_name(&name) || has_name(&text) {
            found.push(path);
        }
    }
}

#[test]
fn nothing_of_platform_names_own_service() {
    let mut found = Vec::new();
    for folder in FOLDERS {
        naming(&root().join(folder), &mut found);
    }
    assert!(found.is_empty(), "these files name the service of tests/{SERVICE}: {found:?}");
}

#[test]
fn name_of_service_is_seen() {
    for (text, is_seen) in [
        ("service == \"adder\"", true),
        ("use bulkhead_adder::world", true),
        ("bulkhead:adder/counter", true),
        ("Adder", true),
        ("a ladder", false),
        ("adders", false),
    ] {
        assert_eq!(has_name(text), is_seen, "{text}");
    }
}
