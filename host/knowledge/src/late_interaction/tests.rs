#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn tokens(words: &[([f32; 2], f32)]) -> TokenVectors {
    TokenVectors {
        vectors: words.iter().flat_map(|(vector, _)| *vector).collect(),
        dims: 2,
        importance: words.iter().map(|(_, importance)| *importance).collect(),
    }
}

fn likeness(question: &[([f32; 2], f32)], passage: &[[f32; 2]]) -> f32 {
    let passage: Vec<_> = passage.iter().map(|vector| (*vector, 1.0)).collect();
    Asked::new(&tokens(question)).unwrap().likeness(&encode(&tokens(&passage)))
}

#[test]
fn each_word_counts_by_its_nearest_and_by_how_telling_it_is() {
    let near = |found: f32, expected: f32| assert!((found - expected).abs() < 0.01, "{found} {expected}");
    let question = [([1.0, 0.0], 3.0), ([0.0, 1.0], 1.0)];
    near(likeness(&question, &[[1.0, 0.0], [0.0, 1.0]]), 1.0);
    near(likeness(&question, &[[1.0, 0.0], [-1.0, 0.0]]), 0.75);
    near(likeness(&question, &[[0.0, 1.0]]), 0.25);
    near(likeness(&question, &[[0.6, 0.8]]), 0.75 * 0.6 + 0.25 * 0.8);
    near(likeness(&question, &[]), 0.0);
    near(likeness(&[([1.0, 0.0], 0.1)], &[[-1.0, 0.0]]), -1.0);
}

#[test]
fn of_a_long_question_the_most_telling_words_count() {
    let mut question = vec![([0.0, 1.0], 0.1); 2 * MOST];
    question[MOST + 7] = ([1.0, 0.0], 1000.0);
    assert!(likeness(&question, &[[1.0, 0.0]]) > 0.99);
    assert_eq!(Asked::new(&tokens(&question)).unwrap().weights.len(), MOST);
}

#[test]
fn what_cannot_be_compared_is_not() {
    assert!(Asked::new(&TokenVectors::default()).is_none());
    assert!(Asked::new(&tokens(&[])).is_none());
    assert!(Asked::new(&tokens(&[([f32::NAN, 0.0], 1.0)])).is_none());
    assert!(Asked::new(&tokens(&[([1.0, 0.0], 0.0)])).is_none());
    let torn = TokenVectors { vectors: vec![1.0; 3], dims: 2, importance: vec![1.0; 2] };
    assert!(Asked::new(&torn).is_none());
}
