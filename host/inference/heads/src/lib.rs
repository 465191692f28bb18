//! What follows an encoder: from the vectors of tokens to scores of labels, weights of terms, or another vector.
//!
//! The mathematics is that of the transformers library: `BertForSequenceClassification`, `BertForMaskedLM` and their
//! kin; and of the modules `Dense` and `SpladePooling` of sentence-transformers. All of it is calculated in f32.

mod activation;
mod classifier;
mod dense;
mod labels;
mod score;
mod source;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use activation::HeadActivation;
pub use classifier::{SequenceClassifier, TensorNames};
pub use dense::{DenseLayer, dot};
pub use score::ScoreFunction;
pub use source::{HeadError, TensorSource, TensorValues};
pub use vocabulary::{Term, TermPooling, VocabularyHead};
