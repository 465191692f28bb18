//! Tests of the background beside prototypes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage_features::Row;

use super::super::prototypes::Prototypes;
use super::super::{Settings, train, train_with_background};
use crate::dataset::{Dataset, Example};

const DIMS: usize = 24;

/// Returns the vector in the direction `kind` (0 to 3) with differences of its own.
fn around(kind: usize, index: usize) -> Vec<f32> {
    let mut vector = vec![0.0; DIMS];
    vector[kind] = 1.0;
    vector[4 + (5 * index + 7 * kind) % 20] += 0.8;
    vector[4 + (3 * index + 11 * kind) % 20] -= 0.8;
    vector
}

fn dataset(labels: &[&str], texts: &[(usize, Vec<f32>)]) -> Dataset {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    let mut dataset = Dataset::new(labels, DIMS, 0);
    texts.iter().for_each(|(label, vector)| dataset.push(*label, vector, Row::default()).unwrap());
    dataset
}

/// Returns examples of two categories, in the directions 0 and 1.
fn examples() -> Vec<(usize, Vec<f32>)> {
    (0..16).map(|index| (index / 8, around(index / 8, index % 8))).collect()
}

/// Returns texts in the direction 2, and one that is an example of the first category.
fn background() -> Dataset {
    let texts = (0..5).map(|index| around(2, index)).chain([around(0, 1)]);
    dataset(&["none"], &texts.map(|vector| (0, vector)).collect::<Vec<_>>())
}

fn settings() -> Settings {
    Settings::Prototypes(Prototypes::default())
}

/// Returns the most probable label of the direction `kind`.
fn label_of(model: &crate::model::Model, kind: usize) -> String {
    let mut vector = vec![0.0; DIMS];
    vector[kind] = 1.0;
    let probabilities = model.probabilities(Example { dense: &vector, sparse: &Row::default() });
    model.labels[crate::model::argmax(&probabilities).unwrap()].clone()
}

#[test]
fn background_takes_texts_near_to_it() {
    let examples = dataset(&["waste", "dogs"], &examples());
    let trained = train_with_background(&examples, &background(), &settings()).unwrap();
    assert_eq!(trained.background, 5, "the copy of an example is left out");
    assert_eq!(trained.model.labels, ["waste", "dogs", "none"]);
    assert_eq!(trained.model.rows.len(), 16 + 5);
    assert_eq!([2, 0, 1].map(|kind| label_of(&trained.model, kind)), ["none", "waste", "dogs"]);
    assert!(trained.held_out.scores.iter().all(|scores| scores.len() == 3));
    let without = train(&examples, &settings()).unwrap();
    assert_eq!(trained.model.temperature, without.model.temperature);
    assert_eq!(trained.model.bias[..16], without.model.bias);
}

#[test]
fn background_joins_examples_of_its_label() {
    let mut texts = examples();
    texts.splice(8..8, (0..3).map(|index| (1, around(3, index))));
    texts[11..].iter_mut().for_each(|(label, _)| *label = 2);
    let examples = dataset(&["waste", "none", "dogs"], &texts);
    let trained = train_with_background(&examples, &background(), &settings()).unwrap();
    assert_eq!(trained.model.labels, ["waste", "none", "dogs"]);
    assert!(trained.model.rows.is_sorted(), "{:?}", trained.model.rows);
    assert_eq!(trained.model.rows.iter().filter(|label| **label == 1).count(), 3 + 5);
    let labels = [2, 3, 0, 1].map(|kind| label_of(&trained.model, kind));
    assert_eq!(labels, ["none", "none", "waste", "dogs"]);
}

#[test]
fn background_of_a_category_is_left_out() {
    let copies = dataset(&["none"], &[(0, around(0, 1)), (0, around(1, 1))]);
    let examples = dataset(&["waste", "dogs"], &examples());
    let trained = train_with_background(&examples, &copies, &settings()).unwrap();
    assert_eq!(trained, train(&examples, &settings()).unwrap());
}
