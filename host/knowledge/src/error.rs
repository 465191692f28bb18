//! Errors of a knowledge base.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::document::Refused;
use crate::embedder::provenance::Provenance;

/// How long a reader waits for a free connection, and then for each answer of the database.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Refused documents that an error's text names; it holds all.
const NAMED: usize = 10;

/// How SQLite says that another connection writes; a code of PostgreSQL has five characters.
const BUSY: &[&str] = &["5", "261", "517", "773"];

/// Why a base cannot be opened, changed or searched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No base at a path that is to be read.
    #[error("there is no knowledge base at {0}: make one with `bulkhead kb import`")]
    Missing(PathBuf),
    /// A file that cannot be created, or its folder.
    #[error(
        "the knowledge base {0} cannot be created: {1}; make its folder writable, or name another path with --base"
    )]
    CannotCreate(PathBuf, std::io::Error),
    /// A database without the tables.
    #[error("the database has no knowledge base: make one with `bulkhead kb import`")]
    NotInitialized,
    /// Neither a path nor a database that is served.
    #[error("the knowledge base's URL is neither a path, `sqlite:PATH` nor `postgres://...`")]
    Url,
    /// Tables of an older version of this program.
    #[error(
        "the knowledge base has format {found}, this program reads {known}: move its file away or name an empty \
         database, and import again with `bulkhead kb import`"
    )]
    Format {
        /// Its version.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// Tables of a newer version of this program, which must not be thrown away.
    #[error(
        "the knowledge base has format {found}, this program reads {known}: use the version that wrote it"
    )]
    Newer {
        /// Its version.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// The database failed; its file, if it is one, and its error.
    #[error("the knowledge base's database failed: {0}")]
    Database(String),
    /// The database does not answer in time, or all connections to it are in use.
    #[error("the knowledge base's database does not answer within {} seconds", PATIENCE.as_secs())]
    Timeout,
    /// A source that the base does not have.
    #[error("the knowledge base has no source {name:?}; it has {}", names(.known))]
    Source {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A base that was opened for reading.
    #[error("the knowledge base was opened for reading only")]
    ReadOnly,
    /// A file or folder of a source.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// A folder of a source.
    #[error("{0} is nested too deeply: import a folder further down")]
    TooDeep(PathBuf),
    /// More documents than the limit.
    #[error("{name} has more than {limit} documents: import it in parts")]
    TooMany {
        /// The source's name.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// A knowledge base in Zammad.
    #[error("the Zammad knowledge base at {url} cannot be read: {reason}")]
    Zammad {
        /// Its address.
        url: String,
        /// Why not.
        reason: String,
    },
    /// Nothing to import.
    #[error("{0} has no document: nothing was changed")]
    Empty(String),
    /// Documents that cannot be imported.
    #[error("{}", list(.0))]
    Refused(Vec<Refused>),
    /// Vectors that cannot be compared.
    #[error(
        "the knowledge base was embedded with {recorded}, the model that is loaded is {loaded}: load that one, or \
         embed everything again with `bulkhead kb import --reembed`"
    )]
    Provenance {
        /// What the base holds.
        recorded: Box<Provenance>,
        /// What was to be imported with.
        loaded: Box<Provenance>,
    },
    /// A line of questions, from 1, and what is wrong with it.
    #[error("line {0} is not a question: {1}")]
    Question(usize, String),
    /// The model failed.
    #[error("texts cannot be embedded: {0}")]
    Embedding(String),
    /// The model that ranks passages failed.
    #[error("passages cannot be ranked: {0}")]
    Reranking(String),
    /// A question's vector of another length, or not finite.
    #[error("the question's vector has {found} finite numbers, those of the base have {expected}")]
    Vector {
        /// Its length.
        found: usize,
        /// The base's.
        expected: usize,
    },
    /// A question's vector that another model made than the one that the base is embedded with now.
    #[error(
        "the knowledge base was embedded again with another model in the meantime: embed the question with that one"
    )]
    Reembedded,
    /// Another import is in its transaction.
    #[error("the knowledge base is being written by another import: try again when it is done")]
    Busy,
    /// Another import was faster.
    #[error("another import has finished meanwhile: run this one again, what it has embedded is kept")]
    Changed,
    /// Rows that no import writes.
    #[error("the knowledge base is damaged: {0}")]
    Damaged(String),
    /// A task of the program ended early; the text is for the log.
    #[error("a task ended early: {0}")]
    Task(String),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut => Self::Timeout,
            sqlx::Error::Database(said) if said.code().is_some_and(|code| BUSY.contains(&&*code)) => {
                Self::Busy
            }
            // The text must not occur twice.
            sqlx::Error::Database(said) => Self::Database(said.message().to_owned()),
            error => Self::Database(error.to_string()),
        }
    }
}

impl Error {
    /// Adds the database's file to the text.
    pub(crate) fn of(self, file: &Path) -> Self {
        match self {
            Self::Database(said) => Self::Database(format!("{}: {said}", file.display())),
            other => other,
        }
    }
}

fn list(refused: &[Refused]) -> String {
    let documents = if refused.len() == 1 { "document" } else { "documents" };
    let mut text = format!("{} {} cannot be imported, so nothing was:", refused.len(), documents);
    for Refused { name, reason, .. } in refused.iter().take(NAMED) {
        let _ = write!(text, "\n  {name}: {reason}");
    }
    if refused.len() > NAMED {
        let _ = write!(text, "\n  and {} more", refused.len() - NAMED);
    }
    text.push_str(
        "\nCorrect them, or leave them out with --skip-refused; their earlier versions in the base stay unchanged.",
    );
    text
}

fn names(known: &[String]) -> String {
    match known {
        [] => "no sources".to_owned(),
        known => known.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "),
    }
}
