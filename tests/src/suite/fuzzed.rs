//! The fuzz targets for what is sent to the host, over their samples and thousands of altered ones.

#[path = "../../fuzz/src/altered.rs"]
mod altered;
#[path = "../../fuzz/src/requests.rs"]
mod requests;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/samples")
}

altered::sampled! { folder(), requests::TARGETS;
    preflight: 2000,
    component_upload: 2000,
    oci_manifest: 2000,
    ticket_json: 2000,
    captcha_payload: 2000,
    gql: 1000,
    configuration: 500,
}

/// A target that nothing samples would be run by `just fuzz` alone.
#[test]
fn every_fuzz_program_has_samples() {
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let programs = names(&folder().join("../targets"));
    assert_eq!(programs, names(&folder()));
    assert!(requests::TARGETS.iter().all(|(name, _)| programs.contains(*name)));
}

/// Else what lies behind the refusals would be reached by chance only.
#[test]
fn samples_are_taken_unless_named_refused() {
    for (target, body) in requests::TARGETS {
        for path in fs::read_dir(folder().join(target)).unwrap().map(|entry| entry.unwrap().path()) {
            let is_sound = !path.file_name().unwrap().to_str().unwrap().starts_with("refused-");
            assert_eq!(body(&fs::read(&path).unwrap()), is_sound, "{}", path.display());
        }
    }
}
