//! Runs of the fuzz targets for files of models, over their samples and thousands of altered ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../../tests/fuzz/src/altered.rs"]
mod altered;
#[path = "../../../tests/fuzz/src/files.rs"]
mod files;

use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/samples")
}

altered::sampled! { folder(), files::TARGETS;
    tokenizer_json: 300,
    safetensors: 1500,
    model2vec_folder: 1500,
    linear_head: 1500,
    tensor_shape: 1500,
}

/// The targets accept the samples.
#[test]
fn every_sample_is_taken() {
    use bulkhead_inference::{head::Head, tensors::Tensors};
    use bulkhead_tokenizers::Tokenizer;
    let samples = |name: &str| {
        let files = fs::read_dir(folder().join(name)).unwrap();
        files.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    assert!(samples("tokenizer_json").iter().all(|path| Tokenizer::open(path).is_ok()));
    assert!(samples("safetensors").iter().any(|path| Tensors::open(path).is_ok()));
    assert!(samples("linear_head").iter().all(|path| Head::load(path).is_ok()));
}
