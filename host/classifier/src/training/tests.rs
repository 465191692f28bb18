//! Tests of training.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage_features::{FeatureSettings, Row};

use super::scaling::Scaling;
use super::solver::Weights;
use super::*;
use crate::dataset::Example;

fn separation() -> Settings {
    Settings::Separation(Separation::default())
}

const FEATURES: FeatureSettings = FeatureSettings::words_only(10);
const TEXTS: [(&str, usize); 9] = [
    ("the bin was not emptied", 2),
    ("my bin is broken", 2),
    ("a new bin please", 2),
    ("my dog died", 0),
    ("a dog tag please", 0),
    ("register the dog", 0),
    ("my passport expired", 3),
    ("a new passport please", 3),
    ("the passport was stolen", 3),
];

/// Returns a data set in which label 1 has no examples.
fn dataset(dims: usize) -> Dataset {
    let labels = ["dog", "unused", "waste", "passport"].map(str::to_owned).to_vec();
    let mut dataset = Dataset::new(labels, dims, FEATURES.columns());
    for (index, (text, target)) in TEXTS.into_iter().enumerate() {
        let dense: Vec<f32> =
            (0..dims).map(|at| 5.0 + 0.1 * ((target == at) as u8 as f32) + 0.001 * index as f32).collect();
        dataset.push(target, &dense, FEATURES.row(text)).unwrap();
    }
    dataset
}

#[test]
fn training_drops_labels_without_examples() {
    let trained = train(&dataset(0), &separation()).unwrap();
    assert_eq!(trained.model.labels, ["dog", "waste", "passport"]);
    for (text, label) in [("where is my dog", "dog"), ("the bin", "waste"), ("passport?", "passport")] {
        let row = FEATURES.row(text);
        let scores = trained.model.scores(Example { dense: &[], sparse: &row });
        assert_eq!(trained.model.labels[argmax(&scores).unwrap()], label, "{text}");
    }
}

#[test]
fn hold_out_predicts_unseen_examples() {
    let mut examples = dataset(0);
    let held_out = hold_out(&examples, &separation()).unwrap();
    assert_eq!((held_out.folds, held_out.scores.len()), (5, TEXTS.len()));
    // An example with words of its own cannot be known from the others: its score is its label's bias.
    examples.push(0, &[], FEATURES.row("zebra")).unwrap();
    let trained = train(&examples, &separation()).unwrap();
    let seen = trained.model.scores(Example { dense: &[], sparse: &FEATURES.row("zebra") });
    assert!(seen[0] > trained.held_out.scores[TEXTS.len()][0] + 0.2);
}

#[test]
fn the_same_examples_give_the_same_model() {
    let settings = Settings::Separation(Separation { cost: 3.0, ..Separation::default() });
    assert_eq!(train(&dataset(4), &settings).unwrap(), train(&dataset(4), &settings).unwrap());
}

#[test]
fn scaling_is_folded_into_the_weights() {
    let examples = dataset(4);
    let settings = Separation { dense_scale: 2.0, sparse_scale: 0.5, ..Separation::default() };
    let scaling = Scaling::of(&examples, settings.dense_scale, settings.sparse_scale);
    let weights = Weights {
        dense: vec![1.0, -2.0, 0.5, 3.0],
        sparse: (0..FEATURES.columns()).map(|column| column as f64 / 100.0).collect(),
        bias: 0.75,
    };
    let model = scaling.fold(vec!["only".into()], std::slice::from_ref(&weights));
    for example in examples.examples() {
        let (dense, sparse) = scaling.apply(example);
        let products = weights.dense.iter().zip(&dense).map(|(weight, value)| weight * f64::from(*value));
        let columns = sparse.iter().map(|(at, value)| weights.sparse[at as usize] * f64::from(value));
        let expected = products.sum::<f64>() + columns.sum::<f64>() + weights.bias;
        assert!((f64::from(model.scores(example)[0]) - expected).abs() < 1e-2, "{expected}");
    }
}

#[test]
fn folds_are_alike_in_size_and_labels() {
    let mut examples = Dataset::new(vec!["a".into(), "b".into()], 1, 0);
    (0..100).for_each(|index| examples.push(index / 50, &[0.0], Row::default()).unwrap());
    let folds = folds(&examples);
    for fold in 0..FOLDS_OF_FEW {
        let labels: Vec<usize> =
            (0..100).filter(|index| folds[*index] == fold).map(|index| index / 50).collect();
        assert_eq!(labels, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    }
}

#[test]
fn unusable_examples_are_refused() {
    let labels = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(train(&Dataset::new(labels.clone(), 0, 0), &separation()), Err(Error::Empty));
    let mut one = Dataset::new(labels, 2, 0);
    one.push(0, &[1.0, 2.0], Row::default()).unwrap();
    assert_eq!(train(&one, &separation()), Err(Error::Categories(1)));
    let short = one.push(0, &[1.0], Row::default());
    assert_eq!(short, Err(Error::Dims { example: 1, found: 1, expected: 2 }));
    assert_eq!(one.push(0, &[1.0, f32::NAN], Row::default()), Err(Error::NotFinite(1)));
    assert!(one.push(2, &[1.0, 1.0], Row::default()).is_err());
}

#[test]
fn label_with_one_example_trains() {
    let mut examples = dataset(0);
    examples.push(1, &[], FEATURES.row("zebra")).unwrap();
    let trained = train(&examples, &separation()).unwrap();
    assert_eq!(trained.model.labels.len(), 4);
    let mut embedded = dataset(4);
    embedded.push(1, &[0.0; 4], Row::default()).unwrap();
    for trained in [trained, train(&embedded, &Settings::Prototypes(Prototypes::default())).unwrap()] {
        assert!((0.01..100.0).contains(&trained.model.temperature), "{}", trained.model.temperature);
        assert!(trained.held_out.scores.iter().all(|scores| scores.len() == 4));
    }
}

/// Returns two kinds of texts in each of two labels, crosswise: no straight line separates the labels. The second
/// number is noise that is the same in both.
fn crossed() -> Dataset {
    let mut examples = Dataset::new(vec!["a".into(), "b".into()], 3, 0);
    for index in 0..40 {
        let (kind, noise) = (index % 4, (index / 4) as f32 * 0.3 - 1.35);
        let [x, y] = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]][kind];
        examples.push(kind % 2, &[5.0 + x, noise, y], Row::default()).unwrap();
    }
    examples
}

#[test]
fn prototypes_hold_several_kinds_of_texts() {
    let prototypes = Settings::Prototypes(Prototypes { shrinkage: 0.5, sharpness: 10.0 });
    let trained = train(&crossed(), &prototypes).unwrap();
    assert_eq!(trained.held_out.accuracy(), 1.0);
    assert_eq!((trained.model.labels.len(), trained.model.rows.len()), (2, 40));
    let separated = train(&crossed(), &separation()).unwrap();
    assert!(separated.held_out.accuracy() < 0.7, "{}", separated.held_out.accuracy());
}

#[test]
fn prototypes_need_embeddings() {
    let prototypes = Settings::Prototypes(Prototypes::default());
    assert_eq!(train(&dataset(0), &prototypes), Err(Error::Embeddings));
}

#[test]
fn equal_examples_train_prototypes() {
    let mut examples = Dataset::new(vec!["a".into(), "b".into()], 2, 0);
    for (target, x) in [(0, 1.0), (0, 1.0), (1, -1.0), (1, -1.0)] {
        examples.push(target, &[x, 0.0], Row::default()).unwrap();
    }
    let model = train(&examples, &Settings::Prototypes(Prototypes::default())).unwrap().model;
    let probabilities = model.probabilities(Example { dense: &[1.0, 0.0], sparse: &Row::default() });
    assert!(probabilities[0] > 0.9, "{probabilities:?}");
}
