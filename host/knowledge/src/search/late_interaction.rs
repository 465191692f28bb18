//! Comparing a question with passages word by word (late interaction, Khattab and Zaharia 2020): for each word of the
//! question the nearest one of the passage, weighted by the word's importance.

#[cfg(test)]
mod tests;

use crate::embedder::TokenVectors;

/// Most words of a question that are compared, the most important ones: a long letter would take as long as a search.
const MOST: usize = 64;
/// 1 in a byte.
const ONE: f32 = 127.0;

/// The words of a question.
#[derive(Debug)]
pub(crate) struct QuestionTokens {
    /// `[words, dims]`.
    vectors: Vec<i8>,
    dims: usize,
    /// Importance of each; 1 in total.
    weights: Vec<f32>,
}

impl QuestionTokens {
    /// Prepares the words for comparison; `None` if there are no words that can be compared.
    pub(crate) fn new(tokens: &TokenVectors) -> Option<Self> {
        let TokenVectors { vectors, dims, importance } = tokens;
        let finite = vectors.iter().chain(importance).all(|number| number.is_finite());
        if *dims == 0 || vectors.len() != importance.len() * dims || !finite {
            return None;
        }
        let mut words: Vec<_> = vectors.chunks_exact(*dims).zip(importance).collect();
        words.sort_by(|left, right| right.1.total_cmp(left.1));
        words.truncate(MOST);
        let whole: f32 = words.iter().map(|(_, weight)| **weight).sum();
        (whole > 0.0).then(|| Self {
            vectors: words.iter().flat_map(|(vector, _)| vector.iter().map(|number| byte(*number))).collect(),
            dims: *dims,
            weights: words.iter().map(|(_, weight)| **weight / whole).collect(),
        })
    }

    /// Returns the MaxSim score of a passage's words, as [`encode`] made them: -1 to 1, 0 without words.
    pub(crate) fn max_sim(&self, passage: &[u8]) -> f32 {
        let passage: Vec<i8> = passage.iter().map(|byte| byte.cast_signed()).collect();
        let words = self.vectors.chunks_exact(self.dims).zip(&self.weights);
        let met = words.map(|(question_word, weight)| {
            let products = passage.chunks_exact(self.dims).map(|word| dot(question_word, word));
            weight * products.max().unwrap_or(0) as f32
        });
        met.sum::<f32>() / (ONE * ONE)
    }
}

/// Encodes vectors of words as they are stored, a byte a number.
pub(crate) fn encode(tokens: &TokenVectors) -> Vec<u8> {
    tokens.vectors.iter().map(|number| byte(*number).cast_unsigned()).collect()
}

fn byte(number: f32) -> i8 {
    (number * ONE).round() as i8
}

fn dot(left: &[i8], right: &[i8]) -> i32 {
    left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right)).sum()
}
