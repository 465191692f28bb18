//! The vocabularies that have a compact form.

use serde::{Deserialize, Serialize};

use super::{unigram, wordpiece};

/// A vocabulary's shape, with what a text is split by besides the sections of the form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Model {
    WordPiece(wordpiece::Parameters),
    Unigram(unigram::Parameters),
}
