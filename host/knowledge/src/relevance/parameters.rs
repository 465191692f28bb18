//! Parameters by embedding model, as `cargo run --release -p bulkhead-knowledge --example evaluate -- FOLDER
//! MODEL_ID` fits them on `tests/data/knowledge/questions-dev.jsonl`.

use super::{Nearness, Parameters};

/// For questions without a vector, and for models that are not in [`FITTED`].
pub(super) const WORDS: Parameters = Parameters {
    model: "",
    bias: -6.688,
    weights: [0.0, 0.0, 7.582, 0.0],
    nearness: Nearness { weights: [0.0, 0.0], least: 0.0 },
};

/// For questions with a vector of the named model.
pub(super) const FITTED: &[Parameters] = &[
    Parameters {
        model: "intfloat/multilingual-e5-small",
        bias: -9.467,
        weights: [2.640, 4.812, 2.981, 0.0],
        nearness: Nearness { weights: [1.0, 0.0], least: 0.809 },
    },
    Parameters {
        model: "bulkhead/multilingual-e5-small-town-hall",
        bias: -21.369,
        weights: [16.539, 6.413, 1.855, 0.0],
        nearness: Nearness { weights: [1.0, 0.0], least: 0.772 },
    },
];
