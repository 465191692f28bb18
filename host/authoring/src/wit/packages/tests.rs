//! Tests of the embedded packages.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;
use crate::platform::tests::{platform, without_services};

fn names(files: &[(PathBuf, &'static [u8])]) -> Vec<String> {
    files.iter().map(|(path, _)| path.display().to_string()).collect()
}

#[test]
fn world_is_found_by_each_name() {
    let packages = Packages::of(&platform()).unwrap();
    let found = packages.world("test:greeter/greeter").unwrap();
    for name in ["greeter", "greeter/greeter", "test:greeter/greeter@0.1.0"] {
        assert_eq!(packages.world(name).unwrap(), found, "{name}");
    }
    assert_eq!(packages.world("http").unwrap(), packages.world("wasi:http/proxy@0.2.12").unwrap());
    let error = packages.world("none").unwrap_err().to_string();
    assert!(error.contains("test:greeter/greeter@") && error.contains("called none"), "{error}");
}

#[test]
fn worlds_are_those_of_the_services() {
    let error = Packages::of(&without_services()).unwrap().world("greeter").unwrap_err().to_string();
    assert!(error.contains("wasi:http/proxy@") && !error.contains("bulkhead:"), "{error}");
}

#[test]
fn files_of_world_include_used_packages() {
    let packages = Packages::of(&platform()).unwrap();
    let files = names(&packages.files(packages.world("greeter").unwrap(), &BTreeSet::new()));
    for name in ["greeter.wit", "names.wit", "deps/host/host.wit", "deps/random/random.wit"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    assert!(!files.iter().any(|file| file.contains("nn.wit")), "{files:?}");
}

#[test]
fn served_world_brings_what_is_offered() {
    let platform = platform();
    let packages = Packages::of(&platform).unwrap();
    let world = packages.world("http").unwrap();
    let files = names(&packages.files(world, &packages.offered(&platform, world)));
    for name in ["http.wit", "deps/config/config.wit", "deps/logging/logging.wit", "deps/io/io.wit"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    let all = names(&packages.all_files(&platform));
    for name in ["http/http.wit", "http/deps/config/config.wit", "greeter/greeter.wit"] {
        assert!(all.iter().any(|file| file == name), "{name}: {all:?}");
    }
    let greeter = packages.world("greeter").unwrap();
    assert!(packages.offered(&platform, greeter).is_empty());
}

#[test]
fn written_world_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let packages = Packages::of(&platform()).unwrap();
    for world in ["greeter", "http"] {
        let folder = folder.path().join(world);
        write(&folder, packages.files(packages.world(world).unwrap(), &BTreeSet::new()), false).unwrap();
        let mut resolve = Resolve::default();
        resolve.push_dir(&folder).unwrap();
        assert!(resolve.packages.len() > 1, "{world}");
        let error = write(&folder, [(PathBuf::from("more"), b"")], false).unwrap_err().to_string();
        assert!(error.contains("has files already"), "{error}");
    }
}
