//! Tests of heads and their files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use super::*;
use crate::folder::WeightsSource;
use crate::model::Description;

/// Returns a record of three classes over vectors of length 2.
fn record(link: Link) -> Record {
    Record {
        model_id: "toys/encoder".to_owned(),
        weights_sha256: "ab".repeat(32),
        dtype: "int8".to_owned(),
        prompt: Some(Prompt { name: "query".to_owned(), text: "query: ".to_owned() }),
        dims: 2,
        labels: ["waste", "parking", "passports"].map(str::to_owned).to_vec(),
        link,
        sparse: None,
    }
}

fn coefficients() -> Coefficients {
    Coefficients {
        weights: vec![1.0, 0.0, 0.0, 1.0, -1.0, -1.0],
        bias: vec![0.5, 0.0, -0.5],
        scale: vec![1.0; 3],
        shift: vec![0.0; 3],
        sparse: None,
    }
}

/// Returns the same head with four sparse features.
fn sparse(link: Link) -> Head {
    let weights = vec![1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0, -1.0, -1.0, -1.0];
    let record = Record { sparse: Some(json!({"ngrams": [1, 2]})), ..record(link) };
    Head::new(record, Coefficients { sparse: Some(weights), ..coefficients() }).unwrap()
}

fn near(found: &[f32], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((f64::from(*found) - wanted).abs() < 1e-6, "{found} is not {wanted}");
    }
}

fn softmax(scores: [f64; 3]) -> [f64; 3] {
    let powers = scores.map(f64::exp);
    powers.map(|power| power / powers.iter().sum::<f64>())
}

#[test]
fn probabilities_are_those_of_the_formula() {
    let head = Head::new(record(Link::Softmax), coefficients()).unwrap();
    let found = head.predict(&[0.6, 0.8, -1.0, 0.0], None).unwrap();
    near(&found[..3], &softmax([1.1, 0.8, -1.9]));
    near(&found[3..], &softmax([-0.5, 0.0, 0.5]));
    assert_eq!(head.predict(&[], None).unwrap(), Vec::<f32>::new());

    let sigmoid = Head::new(record(Link::Sigmoid), coefficients()).unwrap();
    let found = sigmoid.predict(&[0.6, 0.8], None).unwrap();
    near(&found, &[1.1f64, 0.8, -1.9].map(|score| 1.0 / (1.0 + (-score).exp())));
}

#[test]
fn multiplications_count_vectors_and_features() {
    let head = sparse(Link::Softmax);
    assert_eq!(head.multiplications(2, 5), (2 * 2 + 5) * 3);
    assert_eq!(head.multiplications(usize::MAX, 1), usize::MAX);
}

#[test]
fn class_rows_are_joined_before_calibration() {
    let labels = ["waste", "waste", "parking"].map(str::to_owned).to_vec();
    let halved = Coefficients { scale: vec![0.5; 2], shift: vec![0.0; 2], ..coefficients() };
    let head = Head::new(Record { labels, ..record(Link::Softmax) }, halved).unwrap();
    assert_eq!(head.labels().collect::<Vec<_>>(), ["waste", "parking"]);
    let waste = (1.1f64.exp() + 0.8f64.exp()).ln() / 2.0;
    let odds = (waste + 1.9 / 2.0).exp();
    near(&head.predict(&[0.6, 0.8], None).unwrap(), &[odds / (1.0 + odds), 1.0 / (1.0 + odds)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.safetensors");
    head.write(&path).unwrap();
    assert_eq!(Head::load(&path).unwrap(), head);
}

#[test]
fn calibration_scales_and_shifts_each_class() {
    let calibrated =
        Coefficients { scale: vec![0.5, 2.0, 1.0], shift: vec![0.1, -0.2, 0.3], ..coefficients() };
    let head = Head::new(record(Link::Softmax), calibrated).unwrap();
    near(&head.predict(&[0.6, 0.8], None).unwrap(), &softmax([0.65, 1.4, -1.6]));
}

#[test]
fn sparse_features_add_to_row_scores() {
    let head = sparse(Link::Softmax);
    assert_eq!(head.features(), 4);
    // Row 0 has none, row 1 has feature 1 twice, row 2 features 3 and 0.
    let (indices, values) = ([1, 1, 3, 0], [0.25, 0.5, 2.0, 1.0]);
    let csr = Csr { indices: &indices, values: &values, offsets: &[0, 0, 2, 4] };
    let found = head.predict(&[0.0; 6], Some(csr)).unwrap();
    near(&found[..3], &softmax([0.5, 0.0, -0.5]));
    near(&found[3..6], &softmax([0.5, 1.5, -0.5]));
    near(&found[6..], &softmax([-0.5, -2.0, -2.5]));
}

#[test]
fn a_long_vector_is_multiplied_whole() {
    let dims = 19;
    let labels = vec!["one".to_owned()];
    let record = Record { dims, labels, ..record(Link::Sigmoid) };
    let weights: Vec<f32> = (0..dims).map(|index| index as f32 / 64.0).collect();
    let one = vec![1.0];
    let coefficients = Coefficients { weights, bias: vec![0.0], scale: one, shift: vec![0.0], sparse: None };
    let head = Head::new(record, coefficients).unwrap();
    let score = (0..dims).sum::<usize>() as f64 / 64.0;
    near(&head.predict(&vec![1.0; dims], None).unwrap(), &[1.0 / (1.0 + (-score).exp())]);
}

#[test]
fn the_largest_numbers_give_probabilities() {
    for link in [Link::Softmax, Link::Sigmoid] {
        let most = vec![f32::MAX; 3];
        let coefficients = Coefficients {
            weights: [vec![f32::MAX; 2], vec![f32::MIN; 4]].concat(),
            bias: most.clone(),
            scale: most.clone(),
            shift: most,
            sparse: None,
        };
        let head = Head::new(record(link), coefficients).unwrap();
        let found = head.predict(&[f32::MAX, f32::MAX], None).unwrap();
        near(&found, &[1.0, 0.0, 0.0]);
    }
}

#[test]
fn input_that_does_not_fit_is_refused() {
    let (dense, sparse) = (Head::new(record(Link::Softmax), coefficients()).unwrap(), sparse(Link::Softmax));
    let refused = |head: &Head, embedding: &[f32], csr| head.predict(embedding, csr).unwrap_err().to_string();
    assert_eq!(refused(&dense, &[0.0; 3], None), "`embedding` has 3 numbers, not a multiple of 2");
    assert_eq!(refused(&dense, &[0.0, f32::NAN], None), "`embedding`: number 1 is not finite");
    assert_eq!(refused(&sparse, &[0.0; 2], None), "the head needs sparse features");
    let csr = |indices, values, offsets| Some(Csr { indices, values, offsets });
    assert_eq!(refused(&dense, &[0.0; 2], csr(&[0], &[1.0], &[0, 1])), "the head takes no sparse features");
    let cases: [(Option<Csr<'_>>, &str); 8] = [
        (csr(&[0], &[], &[0, 1]), "`values`: 0 numbers for 1 indices"),
        (csr(&[0], &[1.0], &[0]), "`offsets`: 1 numbers for 1 rows, not one more"),
        (csr(&[], &[], &[]), "`offsets`: 0 numbers for 1 rows, not one more"),
        (csr(&[0], &[1.0], &[1, 1]), "`offsets`: they do not rise from 0 to 1 indices"),
        (csr(&[0], &[1.0], &[0, 2]), "`offsets`: they do not rise from 0 to 1 indices"),
        (csr(&[4], &[1.0], &[0, 1]), "`indices`: number 0 is 4, not below 4"),
        (csr(&[u32::MAX], &[1.0], &[0, 1]), "`indices`: number 0 is 4294967295, not below 4"),
        (csr(&[0], &[f32::INFINITY], &[0, 1]), "`values`: number 0 is not finite"),
    ];
    for (csr, message) in cases {
        assert_eq!(refused(&sparse, &[0.0; 2], csr), message);
    }
    let falling = csr(&[0, 1], &[1.0, 1.0], &[0, 2, 1, 2]);
    assert_eq!(refused(&sparse, &[0.0; 6], falling), "`offsets`: they do not rise from 0 to 2 indices");
}

#[test]
fn inconsistent_parts_are_refused() {
    let refused = |record: Record, coefficients| Head::new(record, coefficients).unwrap_err().to_string();
    let softmax = || record(Link::Softmax);
    let twice = Record { labels: ["a", "b", "a"].map(str::to_owned).to_vec(), ..softmax() };
    assert_eq!(refused(twice, coefficients()), "labels: rows of `a` do not lie together");
    let one = Record { labels: vec!["a".to_owned()], ..softmax() };
    assert_eq!(refused(one, coefficients()), "labels: 1 are too few to choose from");
    let none = Record { labels: Vec::new(), ..record(Link::Sigmoid) };
    assert_eq!(refused(none, coefficients()), "labels: 0 are too few to choose from");
    let flat = Record { dims: 0, ..softmax() };
    assert_eq!(refused(flat, coefficients()), "tensor `weights` has 6 numbers, not labels times dims");
    let huge = Record { dims: usize::MAX, ..softmax() };
    assert_eq!(refused(huge, coefficients()), "tensor `weights` has 6 numbers, not labels times dims");
    let wide = Record { dims: 3, ..softmax() };
    assert_eq!(refused(wide, coefficients()), "tensor `weights` has 6 numbers, not 9");
    let short = Coefficients { shift: vec![0.0; 2], ..coefficients() };
    assert_eq!(refused(softmax(), short), "tensor `shift` has 2 numbers, not 3");
    let broken = Coefficients { bias: vec![0.0, f32::NAN, 0.0], ..coefficients() };
    assert_eq!(refused(softmax(), broken), "tensor `bias`: number 1 is not finite");
    let both = "the record's `sparse` and tensor `sparse_weights` must both be there or neither";
    assert_eq!(refused(softmax(), Coefficients { sparse: Some(vec![0.0; 3]), ..coefficients() }), both);
    let described = || Record { sparse: Some(json!({})), ..softmax() };
    assert_eq!(refused(described(), coefficients()), both);
    for numbers in [vec![], vec![0.0; 4]] {
        let message = format!("tensor `sparse_weights` has {} numbers, not a multiple of 3", numbers.len());
        let odd = Coefficients { sparse: Some(numbers), ..coefficients() };
        assert_eq!(refused(described(), odd), message);
    }
}

#[test]
fn head_round_trips_through_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new").join("head.safetensors");
    for head in [Head::new(record(Link::Sigmoid), coefficients()).unwrap(), sparse(Link::Softmax)] {
        head.write(&path).unwrap();
        assert_eq!(Head::load(&path).unwrap(), head);
        let first = fs::read(&path).unwrap();
        head.write(&path).unwrap();
        assert!(fs::read(&path).unwrap() == first, "the same head is the same file");
    }
}

/// Writes a head's file with one tensor changed or left out, or with other metadata.
fn altered(path: &Path, tensor: &str, shape: &[usize], dtype: Dtype, note: Option<Value>) {
    let usual = || json!({"format": 1, "record": record(Link::Softmax)});
    let note = note.unwrap_or_else(usual).to_string();
    let zeros = [0; 64];
    let mut tensors = Vec::new();
    for (name, usual) in [("weights", &[3, 2][..]), ("bias", &[3]), ("scale", &[3]), ("shift", &[3])] {
        let (shape, dtype) = if name == tensor { (shape, dtype) } else { (usual, Dtype::F32) };
        let bytes = shape.iter().product::<usize>() * if dtype == Dtype::F16 { 2 } else { 4 };
        if !shape.is_empty() {
            tensors.push((name, TensorView::new(dtype, shape.to_vec(), &zeros[..bytes]).unwrap()));
        }
    }
    let metadata = (note != "null").then(|| HashMap::from([("linear-head".to_owned(), note)]));
    fs::write(path, safetensors::serialize(tensors, metadata).unwrap()).unwrap();
}

#[test]
fn bad_file_is_refused_by_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.safetensors");
    let refused = || {
        let message = Head::load(&path).unwrap_err().to_string();
        let rest = message.strip_prefix(&format!("{}: ", path.display()));
        rest.unwrap_or_else(|| panic!("{message} does not name the file")).to_owned()
    };
    assert!(refused().contains("No such file"));
    fs::write(&path, b"not a head").unwrap();
    assert!(!refused().is_empty());

    altered(&path, "", &[], Dtype::F32, None);
    assert!(Head::load(&path).is_ok());
    altered(&path, "bias", &[], Dtype::F32, None);
    assert_eq!(refused(), "tensor `bias` is missing");
    altered(&path, "bias", &[4], Dtype::F32, None);
    assert_eq!(refused(), "tensor `bias` has shape [4], not [3]");
    altered(&path, "scale", &[3], Dtype::F16, None);
    assert_eq!(refused(), "tensor `scale` is of F16, not F32");
    altered(&path, "weights", &[6], Dtype::F32, None);
    assert_eq!(refused(), "tensor `weights` has shape [6], not [labels, dims]");
    altered(&path, "weights", &[3, 4], Dtype::F32, None);
    assert_eq!(refused(), "tensor `weights` has 12 numbers, not 6");
    let noted = |note| altered(&path, "", &[], Dtype::F32, Some(note));
    noted(Value::Null);
    assert_eq!(refused(), "metadata `linear-head` is missing");
    noted(json!({"format": 2, "record": {"something": "else"}}));
    assert_eq!(refused(), "metadata `linear-head`: format 2, this version reads 1");
    noted(json!({"format": 1, "record": {}}));
    assert_eq!(refused(), "metadata `linear-head`: missing field `model_id`");
}

#[test]
fn a_head_of_another_model_is_refused() {
    let model = Description {
        dims: 2,
        max_input_length: 512,
        pooling: "mean",
        dtype: "int8".to_owned(),
        normalize: true,
        prompts: BTreeMap::from([("query".to_owned(), "query: ".to_owned())]),
        source: WeightsSource::default(),
        weights_sha256: "ab".repeat(32),
        late_interaction: None,
    };
    let trained = record(Link::Softmax);
    assert_eq!(trained.check(&model), Ok(()));
    assert_eq!(Record { model_id: "toys/renamed".to_owned(), ..trained.clone() }.check(&model), Ok(()));
    assert_eq!(Record { prompt: None, ..trained.clone() }.check(&model), Ok(()));
    let refused = |model: &Description| trained.check(model).unwrap_err();
    let message = refused(&Description { dims: 3, ..model.clone() }).to_string();
    assert_eq!(
        message,
        "the head was trained with dims `2`, the model that is loaded has `3`; \
         train it again with `bulkhead triage train`"
    );
    let other = |change: fn(&mut Description)| {
        let mut model = model.clone();
        change(&mut model);
        refused(&model).what
    };
    assert_eq!(other(|model| model.weights_sha256 = "cd".repeat(32)), "weights sha256");
    assert_eq!(other(|model| model.dtype = "float32".to_owned()), "dtype");
    assert_eq!(other(|model| model.dims = 3), "dims");
    assert_eq!(other(|model| model.prompts.clear()), "prompt");
    assert_eq!(other(|model| drop(model.prompts.insert("query".to_owned(), "q: ".to_owned()))), "prompt");
}
