//! Tests of the linear model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage_features::Row;

use super::*;

#[test]
fn scores_add_up_and_the_temperature_flattens() {
    let mut model = Model {
        labels: vec!["a".into(), "b".into()],
        rows: vec![0, 1],
        dims: 2,
        dense: vec![1.0, 2.0, -1.0, 0.5],
        columns: 3,
        sparse: vec![0.0, 3.0, 0.0, 0.0, 0.0, 4.0],
        bias: vec![0.25, -0.25],
        temperature: 1.0,
    };
    let sparse = Row { indices: vec![1, 2], values: vec![0.5, 0.25] };
    let example = Example { dense: &[1.0, 1.0], sparse: &sparse };
    assert_eq!(model.scores(example), [4.75, 0.25]);
    let sharp = model.probabilities(example)[0];
    assert!((sharp - 1.0 / (1.0 + (-4.5_f32).exp())).abs() < 1e-6);
    model.temperature = 10.0;
    let flat = model.probabilities(example)[0];
    assert!((flat - 1.0 / (1.0 + (-0.45_f32).exp())).abs() < 1e-6);
}

#[test]
fn huge_scores_stay_finite() {
    assert_eq!(softmax(&[1e30, -1e30], 0.001), [1.0, 0.0]);
}

#[test]
fn rows_of_a_label_are_joined() {
    let model = Model {
        labels: vec!["a".into(), "b".into()],
        rows: vec![0, 0, 1],
        dims: 1,
        dense: vec![1.0, 2.0, 3.0],
        columns: 0,
        sparse: Vec::new(),
        bias: vec![0.0, 0.0, -1.0],
        temperature: 1.0,
    };
    let scores = model.scores(Example { dense: &[1.0], sparse: &Row::default() });
    assert!((scores[0] - (1_f32.exp() + 2_f32.exp()).ln()).abs() < 1e-6);
    assert_eq!(scores[1], 2.0);
}
