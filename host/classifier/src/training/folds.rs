//! The folds of cross-validation.

use super::{FOLDS_OF_FEW, FOLDS_OF_MANY, MANY};
use crate::dataset::Dataset;

/// Returns the fold of each example, from 0. The examples of a label take turns through the folds, so every fold has
/// the labels in their proportions; labels start at different folds, so that folds are equally large even where
/// labels have few examples.
pub(super) fn folds(examples: &Dataset) -> Vec<usize> {
    let count = if examples.len() < MANY { FOLDS_OF_FEW } else { FOLDS_OF_MANY };
    let count = count.min(examples.len());
    let mut next: Vec<usize> = (0..examples.labels().len()).collect();
    let folds = examples.targets().iter().map(|target| {
        next.get_mut(*target).map_or(0, |next| {
            *next += 1;
            (*next - 1) % count
        })
    });
    folds.collect()
}
