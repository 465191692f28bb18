//! The manual pages, which packages install.

use std::{collections::BTreeSet, fs};

use bulkhead_tests::child::Launch;
use tempfile::TempDir;

#[tokio::test]
async fn every_command_has_a_page() {
    let folder = TempDir::new().unwrap();
    let pages = folder.path().join("man1");
    let written = Launch::bulkhead(&["man", pages.to_str().unwrap()]).finish().await;
    assert!(written.succeeded(), "{}", written.stderr);
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let names: BTreeSet<String> = fs::read_dir(&pages).unwrap().map(name).collect();
    for page in ["bulkhead.1", "bulkhead-serve.1", "bulkhead-config-check.1", "bulkhead-health.1"] {
        assert!(names.contains(page), "{names:?}");
    }
    let helps: Vec<_> = names.iter().filter(|name| name.contains("-help")).collect();
    assert!(helps.is_empty(), "{helps:?}");
    let serve = fs::read_to_string(pages.join("bulkhead-serve.1")).unwrap();
    for text in [".TH", "admin\\-listen", "requests in flight were lost"] {
        assert!(serve.contains(text), "{text}: {serve}");
    }
}
