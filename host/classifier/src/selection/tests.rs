#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bulkhead_triage_features::Row;

use super::*;
use crate::training::prototypes::Prototypes;
use crate::training::separation::Separation;

/// Two labels on a line, told apart by the embedding; the sparse column says the opposite of the label for the
/// even examples.
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
fn the_way_that_is_right_most_often_comes_first() {
    let blind = Settings::Separation(Separation { dense_scale: 1e-6, ..Separation::default() });
    let seeing = Settings::Separation(Separation::default());
    let tried = compare(&examples(), &[blind, seeing]).unwrap();
    assert_eq!(tried[0].settings, seeing);
    assert_eq!(tried[0].accuracy, 1.0);
    assert!(tried[1].accuracy < 0.75, "{tried:?}");
}

#[test]
fn ways_that_are_alike_keep_their_order() {
    let one = Settings::Separation(Separation::default());
    let tried = compare(&examples(), &[one, one]).unwrap();
    assert_eq!(tried.len(), 2);
    assert_eq!(tried[0], tried[1]);
}

#[test]
fn few_examples_with_embeddings_become_prototypes() {
    let mut few = Dataset::new(vec!["a".into(), "b".into()], 1, 0);
    few.push(0, &[1.0], Row::default()).unwrap();
    assert_eq!(ways(&few), [Settings::Prototypes(Prototypes::default())]);
    let few = Dataset::new(vec!["a".into(), "b".into()], 0, 2);
    assert!(matches!(ways(&few)[..], [Settings::Separation(_), Settings::Separation(_), ..]));
    let mut many = Dataset::new(vec!["a".into(), "b".into()], 1, 0);
    for index in 0..2 * MANY_EXAMPLES {
        many.push(index % 2, &[index as f32], Row::default()).unwrap();
    }
    assert!(matches!(ways(&many)[0], Settings::Separation(_)));
}
