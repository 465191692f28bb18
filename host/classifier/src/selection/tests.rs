//! Tests of model selection.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage_features::Row;

use super::*;
use crate::training::prototypes::Prototypes;
use crate::training::separation::Separation;

/// Returns two labels on a line that the embedding separates; the sparse column says the opposite of the label for
/// the even examples.
fn examples() -> Dataset {
    let mut examples = Dataset::new(vec!["a".into(), "b".into()], 1, 2);
    for index in 0..20_u32 {
        let label = index % 2;
        let sparse = Row { indices: vec![(index / 2) % 2], values: vec![1.0] };
        examples.push(label as usize, &[label as f32 + 0.01 * index as f32], sparse).unwrap();
    }
    examples
}

#[test]
fn most_accurate_candidate_comes_first() {
    let blind = Settings::Separation(Separation { dense_scale: 1e-6, ..Separation::default() });
    let seeing = Settings::Separation(Separation::default());
    let candidates = compare(&examples(), &[blind, seeing]).unwrap();
    assert_eq!(candidates[0].settings, seeing);
    assert_eq!(candidates[0].accuracy, 1.0);
    assert!(candidates[1].accuracy < 0.75, "{candidates:?}");
}

#[test]
fn equal_candidates_keep_their_order() {
    let one = Settings::Separation(Separation::default());
    let candidates = compare(&examples(), &[one, one]).unwrap();
    assert_eq!(candidates.len(), 2);
    assert_eq!(candidates[0], candidates[1]);
}

#[test]
fn few_examples_with_embeddings_become_prototypes() {
    let mut few = Dataset::new(vec!["a".into(), "b".into()], 1, 0);
    few.push(0, &[1.0], Row::default()).unwrap();
    assert_eq!(parameter_grid(&few), [Settings::Prototypes(Prototypes::default())]);
    let few = Dataset::new(vec!["a".into(), "b".into()], 0, 2);
    assert!(matches!(parameter_grid(&few)[..], [Settings::Separation(_), Settings::Separation(_), ..]));
    let mut many = Dataset::new(vec!["a".into(), "b".into()], 1, 0);
    for index in 0..2 * MANY_EXAMPLES {
        many.push(index % 2, &[index as f32], Row::default()).unwrap();
    }
    assert!(matches!(parameter_grid(&many)[0], Settings::Separation(_)));
}
