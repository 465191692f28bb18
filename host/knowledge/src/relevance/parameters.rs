//! Parameters by embedding model, as `cargo run --release -p bulkhead-knowledge --example evaluate -- FOLDER
//! MODEL_ID` fits them on `tests/data/knowledge/questions-dev.jsonl`.

use super::Parameters;

/// For questions without a vector, and for models that are not in [`FITTED`].
pub(super) const WORDS: Parameters =
    Parameters { model: "", bias: -3.973, weights: [0.0, 9.743, 1.654, 1.808], floor: 0.032 };

/// For questions with a vector of the named model.
pub(super) const FITTED: &[Parameters] = &[Parameters {
    model: "intfloat/multilingual-e5-small",
    bias: -39.590,
    weights: [44.218, 1.367, 1.816, 0.052],
    floor: 0.047,
}];
