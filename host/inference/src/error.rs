//! Errors of loading a model, and of embedding.

use std::path::{Path, PathBuf};

use bulkhead_tokenizers::OpenError;

/// A model that cannot be loaded; each message names the file at fault.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file of the model is missing or cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the model is malformed.
    #[error("{}: {}", path.display(), plain(reason))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The folder holds a model of a family that is not served.
    #[error("{}: architecture `{}` is not served; served are {served}", path.display(), plain(architecture))]
    Architecture {
        /// The file that names the architecture.
        path: PathBuf,
        /// Its name there.
        architecture: String,
        /// The names that are served.
        served: String,
    },
    /// The processor lacks the instructions of the kernel asked for.
    #[error("kernel `{kernel}` does not run on this processor; available are {available}")]
    Kernel {
        /// The kernel asked for.
        kernel: &'static str,
        /// Those that run.
        available: String,
    },
}

/// Returns a reason, which may have text of a model's file, with control characters as escapes: a terminal takes them as
/// commands.
fn plain(reason: &str) -> String {
    let mut plain = String::with_capacity(reason.len());
    for character in reason.chars() {
        match character.is_control() && character != '\n' {
            true => plain.extend(character.escape_default()),
            false => plain.push(character),
        }
    }
    plain
}

impl LoadError {
    /// Creates the error of a file that cannot be read.
    pub fn read(path: &Path, source: std::io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }

    /// Creates the error of a malformed file.
    pub fn malformed(path: &Path, reason: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_path_buf(), reason: reason.into() }
    }
}

impl From<OpenError> for LoadError {
    fn from(fault: OpenError) -> Self {
        match fault {
            OpenError::Read { path, source } => Self::Read { path, source },
            OpenError::Malformed { path, reason } => Self::Malformed { path, reason },
        }
    }
}

/// A model that cannot be had: not found, not downloaded, not converted.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file of the model, or the file it is made from, is not usable.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file or folder cannot be written.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file or folder may not be written.
    #[error("{}: {reason}", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// No model of this name can be pulled.
    #[error("model `{name}` is not known; known are {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A model is not on this machine.
    #[error("model `{value}` is neither a folder nor a pulled model; {hint}")]
    Missing {
        /// What was asked for.
        value: String,
        /// What to do.
        hint: String,
    },
    /// The package installer cannot be run or failed.
    #[error("pip: {reason}")]
    Pip {
        /// What happened, with the end of what it wrote.
        reason: String,
    },
    /// A downloaded file is not the one that was pinned.
    #[error("{}: SHA-256 is {found}, not the pinned {expected}; the file is not used", path.display())]
    Digest {
        /// The file.
        path: PathBuf,
        /// The pinned digest.
        expected: String,
        /// The file's digest.
        found: String,
    },
    /// An archive is damaged or holds something it must not.
    #[error("{}: {reason}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The Hugging Face hub cannot give a model.
    #[error("{model} from the Hugging Face hub: {reason}")]
    Hub {
        /// The model, as it was asked for.
        model: String,
        /// What happened, and what to do.
        reason: String,
    },
    /// Another process is at work on the same model for too long.
    #[error("{}: another process has been pulling this model for more than {minutes} minutes", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        minutes: u64,
    },
}

impl SourceError {
    /// Creates the error of a file or folder that cannot be written.
    pub fn write(path: &Path, source: std::io::Error) -> Self {
        Self::Write { path: path.to_path_buf(), source }
    }

    /// Creates the error of a file or folder that may not be written.
    pub fn unwritable(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unwritable { path: path.to_path_buf(), reason: reason.into() }
    }
}

/// A text that cannot be embedded; texts are counted from zero within their batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// A token id outside the model's vocabulary.
    #[error("text {text}: token id {id} is not below the vocabulary's {vocabulary}")]
    Vocabulary {
        /// The text.
        text: usize,
        /// The id.
        id: u32,
        /// Number of ids.
        vocabulary: usize,
    },
    /// More tokens than the model has positions.
    #[error("text {text}: {tokens} tokens are more than the model's {limit}")]
    TooLong {
        /// The text.
        text: usize,
        /// Its tokens.
        tokens: usize,
        /// The model's limit.
        limit: usize,
    },
    /// A text without a token has no vector.
    #[error("text {text}: no tokens")]
    Empty {
        /// The text.
        text: usize,
    },
    /// Offsets or the output do not fit the ids.
    #[error("batch of {texts} texts: {reason}")]
    Shape {
        /// Number of texts.
        texts: usize,
        /// What does not fit.
        reason: &'static str,
    },
    /// The vector holds infinities or NaN: the model's weights are broken.
    #[error("text {text}: the vector is not finite")]
    NotFinite {
        /// The text.
        text: usize,
    },
    /// The packed weights are not those that were packed.
    #[error("the packed weights are damaged; restart the host, which packs them again")]
    Damaged,
    /// Inference panicked; only this unit of work is lost.
    #[error("inference failed: {0}")]
    Panicked(String),
}
