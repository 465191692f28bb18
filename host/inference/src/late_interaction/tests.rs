//! Tests of token vectors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use tempfile::TempDir;

use super::*;

fn file(tensors: &[(&str, &[usize], &[f32])]) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|(.., numbers)| numbers.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        (*name, TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap())
    });
    safetensors::serialize(views, None).unwrap()
}

/// Keeps the first two of `hidden` numbers; all tokens weigh the same.
pub(crate) fn toy_file(hidden: usize) -> Vec<u8> {
    let mut projection = vec![0.0; 2 * hidden];
    (projection[0], projection[hidden + 1]) = (1.0, 1.0);
    file(&[
        ("projection.weight", &[2, hidden], &projection),
        BIAS,
        ("importance.weight", &[1, hidden], &vec![0.0; hidden]),
        ("importance.bias", &[1], &[1.0]),
    ])
}

fn open(bytes: Option<Vec<u8>>) -> Result<Option<LateInteraction>, LoadError> {
    let folder = TempDir::new().unwrap();
    if let Some(bytes) = bytes {
        fs::write(folder.path().join(FILE), bytes).unwrap();
    }
    LateInteraction::open(folder.path(), 3)
}

const PROJECTION: (&str, &[usize], &[f32]) = ("projection.weight", &[2, 3], &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
const BIAS: (&str, &[usize], &[f32]) = ("projection.bias", &[2], &[0.0, 1.0]);
const IMPORTANCE: (&str, &[usize], &[f32]) = ("importance.weight", &[1, 3], &[0.0, 0.0, 2.0]);
const IMPORTANCE_BIAS: (&str, &[usize], &[f32]) = ("importance.bias", &[1], &[-1.0]);

#[test]
fn tokens_are_projected_scaled_and_weighed() {
    let found = open(Some(file(&[PROJECTION, BIAS, IMPORTANCE, IMPORTANCE_BIAS]))).unwrap().unwrap();
    // Rows are longer than the vectors: what lies behind does not count.
    let rows = [3.0, 3.0, 2.0, 99.0, 0.0, 1.0, 0.0, 99.0, 0.0, -1.0, 1.0, 99.0];
    let vectors = found.token_vectors(&rows, 4);
    assert_eq!(vectors.dims, 2);
    assert_eq!(vectors.vectors, [0.6, 0.8, 0.0, 1.0, 0.0, 0.0], "nothing of a token stays nothing");
    assert_eq!(vectors.importance, [3.0, LEAST_IMPORTANCE, 1.0]);
    assert_eq!(found.sha256().len(), 64);
    assert_eq!(found.token_vectors(&[], 4), TokenVectors { dims: 2, ..TokenVectors::default() });
}

#[test]
fn missing_file_is_allowed_and_broken_refused() {
    assert!(open(None).unwrap().is_none());
    let fault = |bytes| open(Some(bytes)).err().unwrap().to_string();
    let wide = ("projection.weight", &[4, 3][..], &[0.0; 12][..]);
    let not_finite = ("projection.bias", &[2][..], &[0.0, f32::NAN][..]);
    for (bytes, part) in [
        (b"nonsense".to_vec(), FILE),
        (file(&[BIAS]), "`projection.weight` is not a matrix of 1 to 3 rows"),
        (file(&[wide]), "`projection.weight` is not a matrix of 1 to 3 rows"),
        (file(&[PROJECTION, BIAS]), "`importance.weight` is missing"),
        (
            file(&[PROJECTION, not_finite, IMPORTANCE, IMPORTANCE_BIAS]),
            "`projection.bias` has no finite numbers",
        ),
    ] {
        let fault = fault(bytes);
        assert!(fault.contains(part), "expected {part}: {fault}");
    }
}
