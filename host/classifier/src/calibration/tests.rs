//! Tests of temperature scaling.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

/// Two labels whose scores differ by 2: right in 3 of 4 cases.
#[test]
fn confidence_becomes_the_share_of_right_answers() {
    let scores = vec![vec![1.0, -1.0]; 400];
    let targets: Vec<usize> = (0..400).map(|index| usize::from(index % 4 == 0)).collect();
    let found = temperature(&scores, &targets);
    let confidence = softmax(&scores[0], found)[0];
    assert!((confidence - 0.75).abs() < 1e-3, "confidence {confidence} at temperature {found}");
}

#[test]
fn perfect_scores_get_the_least_temperature() {
    let found = temperature(&[vec![1.0, 0.0], vec![0.0, 1.0]], &[0, 1]);
    assert!(found < 0.1, "temperature {found}");
}

#[test]
fn uninformative_scores_are_flattened() {
    let scores = vec![vec![1.0, -1.0]; 100];
    let targets: Vec<usize> = (0..100).map(|index| index % 2).collect();
    assert!(temperature(&scores, &targets) > 50.0);
}
