//! Which examples are held out together.

use super::{FEWEST_FOLDS, MOST_FOLDS};
use crate::dataset::Dataset;

/// The fold of each example, from 0. The examples of a label go round the folds in the order they came in, so
/// every fold has the labels in their proportions; labels start at different folds, so that folds are equally
/// large even where labels have few examples.
pub(super) fn folds(examples: &Dataset) -> Vec<usize> {
    let count = fold_count(examples);
    let mut next: Vec<usize> = (0..examples.labels().len()).collect();
    let folds = examples.targets().iter().map(|target| {
        next.get_mut(*target).map_or(0, |next| {
            *next += 1;
            (*next - 1) % count
        })
    });
    folds.collect()
}

/// As many as the rarest label that has at least two examples has, within the bounds.
fn fold_count(examples: &Dataset) -> usize {
    let support = examples.support().into_iter().filter(|count| *count >= FEWEST_FOLDS);
    support.min().unwrap_or(FEWEST_FOLDS).clamp(FEWEST_FOLDS, MOST_FOLDS)
}
