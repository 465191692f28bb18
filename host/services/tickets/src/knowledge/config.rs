//! `[tickets.knowledge]`: settings of the knowledge base.

use std::path::{Path, PathBuf};

use bulkhead_config::{database_url, reader::Reader, secret::Secret};

/// The file of the embedded base, in the data folder.
const FILE: &str = "knowledge.sqlite";
/// Minimum relevance of a passage, per cent. Tickets without related passages are below it; a higher value rejects more
/// tickets that the base could answer.
const FLOOR_PERCENT: u8 = 1;
/// Documents of an answer; the first few contain most answers.
pub const LIMIT: u32 = 5;

/// The database of the knowledge base.
#[derive(Clone, Debug)]
pub enum KnowledgeDatabase {
    /// A file in the data folder.
    Embedded,
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://...`, with the password in it.
    Postgres(Secret),
}

/// `[tickets.knowledge]`.
#[derive(Clone, Debug)]
pub struct KnowledgeSettings {
    /// The database.
    pub url: KnowledgeDatabase,
    /// Minimum relevance of a passage, per cent.
    pub floor_percent: u8,
    /// Maximum documents that are read for an answer.
    pub limit: u32,
    /// Name of the cross-encoder that orders what a search finds; absent: the search alone does.
    pub reranker: Option<String>,
}

impl KnowledgeDatabase {
    /// Returns the URL; `embedded` is the file in the data folder. The URL of a server contains a password.
    pub fn url(&self, embedded: &Path) -> Secret {
        match self {
            Self::Embedded => Secret::new(format!("sqlite:{}", embedded.display())),
            Self::Sqlite(path) => Secret::new(format!("sqlite:{}", path.display())),
            Self::Postgres(url) => url.clone(),
        }
    }

    /// Returns the file of the embedded base.
    pub fn embedded(data_dir: &Path) -> PathBuf {
        data_dir.join(FILE)
    }
}

impl KnowledgeSettings {
    /// Reads the table.
    pub(crate) fn read(r: &mut Reader) -> Self {
        let written = r
            .key("url", "The knowledge base: sqlite:PATH, or postgres://user:password@host/name")
            .default_text("knowledge.sqlite in data_dir")
            .secret();
        let url = database_url::read(r, "url", written, |url| {
            database_url::sqlite_or_postgres(url, KnowledgeDatabase::Sqlite, KnowledgeDatabase::Postgres)
        });
        Self {
            url: url.unwrap_or(KnowledgeDatabase::Embedded),
            floor_percent: r
                .key("floor_percent", "Relevance below which a passage is not answered from")
                .unit("per cent")
                .integer(0..=100, FLOOR_PERCENT),
            limit: r.key("limit", "Most documents that are read for an answer").integer(1..=50, LIMIT),
            reranker: r
                .key(
                    "reranker",
                    "Cross-encoder of embedding.models that orders what a search finds; none: the search alone",
                )
                .text(),
        }
    }
}
