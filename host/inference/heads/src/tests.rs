//! Tests of heads over small tensors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;

use bulkhead_kernels::Kernel;
use serde_json::json;

use super::*;

#[derive(Default)]
struct Tensors(HashMap<&'static str, TensorValues>);

impl Tensors {
    fn with(mut self, name: &'static str, shape: &[usize], values: &[f32]) -> Self {
        self.0.insert(name, TensorValues { shape: shape.to_vec(), values: values.to_vec() });
        self
    }
}

impl TensorSource for Tensors {
    fn tensor(&self, name: &str) -> Option<TensorValues> {
        self.0.get(name).cloned()
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

fn distilbert() -> Tensors {
    Tensors::default()
        .with("pre_classifier.weight", &[2, 2], &[1.0, 0.0, 0.0, -1.0])
        .with("pre_classifier.bias", &[2], &[0.0, 0.5])
        .with("classifier.weight", &[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        .with("classifier.bias", &[3], &[0.0, 0.0, -1.0])
}

#[test]
fn classifier_applies_both_layers() {
    let config = json!({ "id2label": { "0": "a", "2": "c", "1": "b" } });
    let head = SequenceClassifier::read(&distilbert(), TensorNames::DistilBert, 2, &config).unwrap();
    assert_eq!(head.labels(), ["a", "b", "c"]);
    assert_eq!(head.function(), ScoreFunction::Softmax);
    // The second number is 0.5 - 3 and not below 0.
    assert_eq!(head.logits(&[2.0, 3.0]), [2.0, 0.0, 1.0]);
    assert_eq!(head.logits(&[2.0, -1.0, 9.0, 9.0]), [2.0, 1.5, 2.5], "padding does not count");
}

#[test]
fn classifiers_that_do_not_fit_are_refused() {
    let refused = |tensors: Tensors, config: serde_json::Value| {
        SequenceClassifier::read(&tensors, TensorNames::DistilBert, 2, &config).unwrap_err().to_string()
    };
    for (config, part) in [
        (json!({ "id2label": { "0": "a" } }), "names 1 labels, the classifier has 3"),
        (json!({ "id2label": { "0": "a", "1": "b", "3": "c" } }), "no name for label 2"),
        (json!({ "id2label": [] }), "not an object"),
        (json!({ "problem_type": "ranking" }), "`ranking` is not known"),
        (json!({ "problem_type": 1 }), "not a string"),
    ] {
        assert!(refused(distilbert(), config.clone()).contains(part), "{config}");
    }
    let narrow = distilbert().with("classifier.weight", &[3, 1], &[0.0; 3]);
    assert!(refused(narrow, json!({})).contains("`classifier.weight` has shape [3, 1], not [outputs, 2]"));
    let broken = distilbert().with("classifier.bias", &[3], &[0.0, f32::NAN, 0.0]);
    assert!(refused(broken, json!({})).contains("not finite"));
    assert!(refused(Tensors::default(), json!({})).contains("`pre_classifier.weight` is missing"));
}

#[test]
fn score_function_follows_the_problem() {
    let of = |kind: serde_json::Value, labels| ScoreFunction::of(&json!({ "problem_type": kind }), labels);
    for (kind, labels, wanted) in [
        (json!(null), 1, ScoreFunction::Sigmoid),
        (json!(null), 2, ScoreFunction::Softmax),
        (json!("single_label_classification"), 1, ScoreFunction::Sigmoid),
        (json!("single_label_classification"), 3, ScoreFunction::Softmax),
        (json!("multi_label_classification"), 3, ScoreFunction::Sigmoid),
        (json!("regression"), 1, ScoreFunction::Identity),
    ] {
        assert_eq!(of(kind, labels), Ok(wanted));
    }
    let mut logits = [1.0, 1.0];
    ScoreFunction::Softmax.apply(&mut logits);
    assert_eq!(logits, [0.5, 0.5]);
    let mut far = [1000.0, -1000.0];
    ScoreFunction::Softmax.apply(&mut far);
    assert_eq!(far, [1.0, 0.0]);
    let mut zero = [0.0];
    ScoreFunction::Sigmoid.apply(&mut zero);
    assert_eq!(zero, [0.5]);
}

#[test]
fn activations_have_their_values() {
    for (name, at_one) in [
        ("torch.nn.modules.activation.Tanh", 0.761_594_2),
        ("torch.nn.modules.linear.Identity", 1.0),
        ("gelu", 0.841_344_7),
        ("gelu_new", 0.841_192),
        ("relu", 1.0),
        ("sigmoid", 0.731_058_6),
    ] {
        let found = HeadActivation::named(name).unwrap().apply(1.0);
        assert!((found - at_one).abs() < 1e-6, "{name}: {found}");
    }
    assert!((HeadActivation::Gelu.apply(-1.0) + 0.158_655_3).abs() < 1e-6);
    assert!(HeadActivation::named("swish").unwrap_err().to_string().contains("`swish` is not known"));
}

#[test]
fn dense_layer_may_lack_a_bias() {
    let tensors = Tensors::default().with("linear.weight", &[1, 2], &[2.0, 3.0]);
    let layer = DenseLayer::read(&tensors, "linear", 2, false, HeadActivation::Identity).unwrap();
    assert_eq!((layer.outputs(), layer.apply(&[1.0, 1.0])), (1, vec![5.0]));
    assert!(DenseLayer::read(&tensors, "linear", 2, true, HeadActivation::Identity).is_err());
}

#[test]
fn terms_are_pooled_over_tokens() {
    // The transformation changes nothing but the scale: the normalised row of (1, -1) is (1, -1).
    let tensors = Tensors::default()
        .with("vocab_transform.weight", &[2, 2], &[1.0, 0.0, 0.0, 1.0])
        .with("vocab_transform.bias", &[2], &[0.0, 0.0])
        .with("vocab_layer_norm.weight", &[2], &[1.0, 1.0])
        .with("vocab_layer_norm.bias", &[2], &[0.0, 0.0])
        .with("distilbert.embeddings.word_embeddings.weight", &[3, 2], &[1.0, 0.0, 0.0, 1.0, -1.0, -1.0])
        .with("vocab_projector.bias", &[3], &[0.0, 0.0, -0.5]);
    let operations = Kernel::Portable.operations().unwrap();
    let config = json!({ "activation": "linear" });
    let terms = |pooling, rows: &[f32]| {
        let head = VocabularyHead::read(&tensors, TensorNames::DistilBert, 2, &config, pooling, operations);
        let head = head.unwrap();
        assert_eq!(head.vocabulary(), 3);
        let mut pauses = 0;
        let found = head.terms(rows, 2, &mut || pauses += 1);
        assert_eq!(pauses, (rows.len() / 2).div_ceil(16), "one after each block of tokens");
        found
    };
    let near = |found: &[Term], wanted: &[(u32, f32)]| {
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        for (found, (id, weight)) in found.iter().zip(wanted) {
            assert!(found.id == *id && (found.weight / weight - 1.0).abs() < 1e-5, "{found:?}");
        }
    };
    let one = 2.0_f32.ln();
    near(&terms(TermPooling::Max, &[1.0, -1.0]), &[(0, one)]);
    near(&terms(TermPooling::Max, &[1.0, -1.0, -3.0, 3.0, 2.0, -2.0]), &[(0, one), (1, one)]);
    near(&terms(TermPooling::Sum, &[1.0, -1.0, -3.0, 3.0, 2.0, -2.0]), &[(0, 2.0 * one), (1, one)]);
    assert!(terms(TermPooling::Max, &[]).is_empty());
    // More tokens than are held at a time.
    near(&terms(TermPooling::Sum, &[1.0, -1.0].repeat(40)), &[(0, 40.0 * one)]);
}
