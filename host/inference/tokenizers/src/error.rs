//! Errors of opening a tokenizer and of tokenizing.

use std::io;
use std::path::{Path, PathBuf};

/// A tokenizer that cannot be opened; each message names the file at fault.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file is missing or cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is malformed.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl OpenError {
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }

    pub(crate) fn malformed(path: &Path, reason: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_path_buf(), reason: reason.into() }
    }

    /// Copies the fault, where the one that is kept cannot be moved out.
    pub(crate) fn duplicate(&self) -> Self {
        match self {
            Self::Read { path, source } => Self::read(path, source.kind().into()),
            Self::Malformed { path, reason } => Self::malformed(path, reason.clone()),
        }
    }
}

/// A text that cannot be tokenized.
#[derive(Debug, thiserror::Error)]
pub enum TokenizeError {
    /// The limit leaves no room for the special tokens.
    #[error("a limit of {limit} tokens leaves no room for {special} special tokens")]
    Limit {
        /// The limit.
        limit: usize,
        /// How many special tokens the model adds.
        special: usize,
    },
    /// The tokenizer has no form for pairs of texts.
    #[error("the model's tokenizer takes no pairs of texts; its `post_processor` has no template for two")]
    Pair,
    /// The reference tokenizer refuses the text.
    #[error("{0}")]
    Reference(String),
}
