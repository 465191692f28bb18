//! Parameters by embedding model.

use super::Parameters;

/// For questions without a vector, and for models that are not in [`FITTED`].
pub(super) const WORDS: Parameters = Parameters { model: "", bias: -4.0, weights: [0.0, 2.0, 5.0, 1.0] };

/// For questions with a vector of the named model.
pub(super) const FITTED: &[Parameters] =
    &[Parameters { model: "intfloat/multilingual-e5-small", bias: -42.0, weights: [48.0, 1.0, 2.0, 1.0] }];
