//! Standard output, whose reader may leave early.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Why something could not be said.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    /// Whoever read has seen enough: the end, and no fault.
    #[error("nobody reads standard output")]
    Closed,
    /// It does not work.
    #[error("cannot write to standard output: {0}")]
    Failed(io::Error),
}

impl From<io::Error> for OutputError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Failed(error) }
    }
}

/// Writes `text` as it is.
pub(super) fn text(text: impl Display) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    write!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Writes a line.
pub(super) fn line(line: impl Display) -> Result<(), OutputError> {
    text(format_args!("{line}\n"))
}
