//! Tests of the embedded packages.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_runtime::{capabilities, slots::ServedWorld};

use super::*;

fn names(files: &[(PathBuf, &'static [u8])]) -> Vec<String> {
    files.iter().map(|(path, _)| path.display().to_string()).collect()
}

#[test]
fn world_is_found_by_each_name() {
    let packages = Packages::embedded().unwrap();
    let found = packages.world("bulkhead:captcha/captcha").unwrap();
    for name in ["captcha", "captcha/captcha"] {
        assert_eq!(packages.world(name).unwrap(), found, "{name}");
    }
    assert_eq!(packages.world("http").unwrap(), packages.world("wasi:http/proxy@0.2.12").unwrap());
    let error = packages.world("none").unwrap_err().to_string();
    assert!(error.contains("bulkhead:captcha/captcha@") && error.contains("called none"), "{error}");
}

#[test]
fn files_of_world_include_used_packages() {
    let packages = Packages::embedded().unwrap();
    let files = names(&packages.files(packages.world("captcha").unwrap(), &BTreeSet::new()));
    for name in
        ["captcha.wit", "ledger.wit", "deps/host/host.wit", "deps/io/io.wit", "deps/random/random.wit"]
    {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    assert!(!files.iter().any(|file| file.contains("nn.wit")), "{files:?}");
}

#[test]
fn served_world_brings_what_is_offered() {
    let served = ServedWorld {
        name: "wasi:http/proxy",
        exports: &["wasi:http/incoming-handler@0.2.12"],
        table: "apps",
        grants: &[],
        advice: "run it",
    };
    let platform = AuthorPlatform {
        name: "bulkhead",
        slots: Vec::new(),
        worlds: Vec::new(),
        served: vec![served],
        capabilities: capabilities::general(),
    };
    let packages = Packages::embedded().unwrap();
    let world = packages.world("http").unwrap();
    let files = names(&packages.files(world, &packages.offered(&platform, world)));
    for name in ["http.wit", "deps/config/config.wit", "deps/logging/logging.wit", "deps/io/io.wit"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    let all = names(&packages.all_files(&platform));
    for name in ["http/http.wit", "http/deps/config/config.wit", "captcha/captcha.wit"] {
        assert!(all.iter().any(|file| file == name), "{name}: {all:?}");
    }
    let captcha = packages.world("captcha").unwrap();
    assert!(packages.offered(&platform, captcha).is_empty());
}

#[test]
fn written_world_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let packages = Packages::embedded().unwrap();
    for world in ["captcha", "triage", "answer", "status", "http"] {
        let folder = folder.path().join(world);
        write(&folder, packages.files(packages.world(world).unwrap(), &BTreeSet::new()), false).unwrap();
        let mut resolve = Resolve::default();
        resolve.push_dir(&folder).unwrap();
        assert!(resolve.packages.len() > 1, "{world}");
        let error = write(&folder, [(PathBuf::from("more"), b"")], false).unwrap_err().to_string();
        assert!(error.contains("has files already"), "{error}");
    }
}
