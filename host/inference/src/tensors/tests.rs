//! Tests of weights in several files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::fs;

use safetensors::tensor::TensorView;
use serde_json::json;
use tempfile::tempdir;

use super::*;
use crate::encoder::tests::toy::Toy;
use crate::encoder::{Encoder, EncoderOptions, Scratch};
use crate::folder::ModelFolder;
use crate::pooling::Pooling;
use crate::progress::Silent;
use crate::toy_tokenizer;

/// Puts the tensors of `model.safetensors` into two files and a list in its place.
fn split(folder: &Path) {
    let path = folder.join(shards::WEIGHTS);
    let whole = Tensors::open(&path).unwrap();
    let mut places = serde_json::Map::new();
    for part in 0..2 {
        let name = format!("model-0000{}-of-00002.safetensors", part + 1);
        let names: Vec<String> = whole.names().into_iter().skip(part).step_by(2).collect();
        let views: HashMap<&String, TensorView> = names
            .iter()
            .map(|name| {
                let tensor = whole.get(name).unwrap();
                (name, TensorView::new(tensor.dtype, tensor.shape.to_vec(), tensor.bytes).unwrap())
            })
            .collect();
        fs::write(folder.join(&name), safetensors::serialize(views, None).unwrap()).unwrap();
        places.extend(names.iter().map(|tensor| (tensor.clone(), json!(name))));
    }
    let index = json!({"metadata": {"total_size": 1}, "weight_map": places});
    fs::write(folder.join(shards::INDEX), index.to_string()).unwrap();
    fs::remove_file(path).unwrap();
}

#[test]
fn sharded_weights_equal_a_single_file() {
    let (folder, cache) = (tempdir().unwrap(), tempdir().unwrap());
    let folder = folder.path();
    Toy::default().write(folder);
    fs::write(folder.join("tokenizer.json"), toy_tokenizer::wordpiece()).unwrap();
    let options = EncoderOptions { cache: Some(cache.path().to_path_buf()), ..EncoderOptions::default() };
    let embed = || {
        let encoder = Encoder::open(folder, &options).unwrap();
        let mut out = vec![0.0; encoder.dims()];
        encoder.embed(&[3, 1, 4], &[0, 3], Pooling::Mean, &mut Scratch::new(), &mut out).unwrap();
        (out, hex::encode(encoder.weights_sha256()))
    };
    let (whole, digest) = embed();
    split(folder);
    let (parts, digest_of_parts) = embed();
    assert_eq!(parts, whole);
    assert_ne!(digest_of_parts, digest);
    let model = ModelFolder::open(folder).unwrap();
    assert_eq!(model.weights_sha256(&mut Silent).unwrap(), digest_of_parts);
    assert_eq!(embed().1, digest_of_parts, "from the cache");
    // Another second file of the same length is noticed.
    let second = folder.join("model-00002-of-00002.safetensors");
    let mut bytes = fs::read(&second).unwrap();
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&0.5_f32.to_le_bytes());
    fs::write(&second, bytes).unwrap();
    assert_ne!(embed().1, digest_of_parts);
}

#[test]
fn a_bad_list_is_refused_by_name() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    Toy::default().write(folder);
    split(folder);
    let path = folder.join(shards::INDEX);
    let refused = |text: &str| {
        fs::write(&path, text).unwrap();
        Tensors::open(&path).err().unwrap().to_string()
    };
    for (text, part) in [
        ("{", "index.json: EOF"),
        ("{}", "weight_map"),
        (r#"{"weight_map":{}}"#, "names no tensor"),
        (r#"{"weight_map":{"a":"../a.safetensors"}}"#, "not a file of this folder"),
        (r#"{"weight_map":{"a":"/etc/passwd"}}"#, "not a file of this folder"),
        (r#"{"weight_map":{"a":"missing.safetensors"}}"#, "missing.safetensors: "),
        (r#"{"weight_map":{"a":"model-00001-of-00002.safetensors"}}"#, "tensor `a` is not in model-00001"),
    ] {
        let fault = refused(text);
        assert!(fault.contains(part) && fault.contains(&folder.display().to_string()), "{fault}");
    }
}
