//! Tests of MaxSim scores.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn tokens(words: &[([f32; 2], f32)]) -> TokenVectors {
    TokenVectors {
        vectors: words.iter().flat_map(|(vector, _)| *vector).collect(),
        dims: 2,
        importance: words.iter().map(|(_, importance)| *importance).collect(),
    }
}

fn max_sim(question: &[([f32; 2], f32)], passage: &[[f32; 2]]) -> f32 {
    let passage: Vec<_> = passage.iter().map(|vector| (*vector, 1.0)).collect();
    QuestionTokens::new(&tokens(question)).unwrap().max_sim(&encode(&tokens(&passage)))
}

#[test]
fn words_count_by_similarity_and_importance() {
    let near = |found: f32, expected: f32| assert!((found - expected).abs() < 0.01, "{found} {expected}");
    let question = [([1.0, 0.0], 3.0), ([0.0, 1.0], 1.0)];
    near(max_sim(&question, &[[1.0, 0.0], [0.0, 1.0]]), 1.0);
    near(max_sim(&question, &[[1.0, 0.0], [-1.0, 0.0]]), 0.75);
    near(max_sim(&question, &[[0.0, 1.0]]), 0.25);
    near(max_sim(&question, &[[0.6, 0.8]]), 0.75 * 0.6 + 0.25 * 0.8);
    near(max_sim(&question, &[]), 0.0);
    near(max_sim(&[([1.0, 0.0], 0.1)], &[[-1.0, 0.0]]), -1.0);
}

#[test]
fn long_question_keeps_its_important_words() {
    let mut question = vec![([0.0, 1.0], 0.1); 2 * MOST];
    question[MOST + 7] = ([1.0, 0.0], 1000.0);
    assert!(max_sim(&question, &[[1.0, 0.0]]) > 0.99);
    assert_eq!(QuestionTokens::new(&tokens(&question)).unwrap().weights.len(), MOST);
}

#[test]
fn incomparable_tokens_are_refused() {
    assert!(QuestionTokens::new(&TokenVectors::default()).is_none());
    assert!(QuestionTokens::new(&tokens(&[])).is_none());
    assert!(QuestionTokens::new(&tokens(&[([f32::NAN, 0.0], 1.0)])).is_none());
    assert!(QuestionTokens::new(&tokens(&[([1.0, 0.0], 0.0)])).is_none());
    let torn = TokenVectors { vectors: vec![1.0; 3], dims: 2, importance: vec![1.0; 2] };
    assert!(QuestionTokens::new(&torn).is_none());
}
