//! Parameters by embedding model, as `cargo run --release -p bulkhead-knowledge --example evaluate -- FOLDER
//! MODEL_ID` fits them on `tests/data/knowledge/questions-dev.jsonl`.

use super::Parameters;

/// For questions without a vector, and for models that are not in [`FITTED`].
pub(super) const WORDS: Parameters =
    Parameters { model: "", bias: -4.036, weights: [0.0, 10.045, 1.884, 1.509], floor: 0.032 };

/// For questions with a vector of the named model.
pub(super) const FITTED: &[Parameters] = &[Parameters {
    model: "intfloat/multilingual-e5-small",
    bias: -38.332,
    weights: [42.730, 0.823, 2.258, -0.037],
    floor: 0.047,
}];
