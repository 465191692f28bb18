//! The vocabularies that have a compact form.

use serde::{Deserialize, Serialize};

use super::{unigram, wordpiece};

/// A vocabulary's shape, with the parameters of splitting that are not in the form's sections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Model {
    WordPiece(wordpiece::Parameters),
    Unigram(unigram::Parameters),
}
