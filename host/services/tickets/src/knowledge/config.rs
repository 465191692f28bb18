//! `[tickets.knowledge]`: the knowledge base that answers come from.

use std::path::{Path, PathBuf};

use bulkhead_config::{database_url, reader::Reader, secret::Secret};

/// The base's file in the data folder.
const FILE: &str = "knowledge.sqlite";
/// Relevance in per cent below which nothing is answered. What nothing in the base is near to has none at all; higher
/// answers less, and more of what it does not answer had an answer.
pub const FLOOR_PERCENT: u8 = 1;
/// Documents that an answer may draw on; the first ones have what there is.
pub const LIMIT: u32 = 5;

/// Where a knowledge base is.
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
pub struct Knowledge {
    /// Where the base is.
    pub url: KnowledgeDatabase,
    /// Relevance below which a passage is not answered from, per cent.
    pub floor_percent: u8,
    /// Most documents that are read for an answer.
    pub limit: u32,
}

impl KnowledgeDatabase {
    /// Its URL; `embedded` is the file in the data folder. Holds a password where it is a server's.
    pub fn url(&self, embedded: &Path) -> Secret {
        match self {
            Self::Embedded => Secret::new(format!("sqlite:{}", embedded.display())),
            Self::Sqlite(path) => Secret::new(format!("sqlite:{}", path.display())),
            Self::Postgres(url) => url.clone(),
        }
    }

    /// The embedded base's file.
    pub fn embedded(data_dir: &Path) -> PathBuf {
        data_dir.join(FILE)
    }
}

impl Knowledge {
    pub(crate) fn read(r: &mut Reader) -> Self {
        let written = r
            .key("url", "The knowledge base: sqlite:PATH, or postgres://user:password@host/name")
            .default_text("knowledge.sqlite in data_dir")
            .secret();
        if let Some(text) = written.as_ref().and_then(|written| database_url::warning(written.expose())) {
            r.warn("url", text);
        }
        let url = written.map(|written| {
            database_url::sqlite_or_postgres(
                written.expose(),
                KnowledgeDatabase::Sqlite,
                KnowledgeDatabase::Postgres,
            )
        });
        let url = url.transpose();
        Self {
            url: url
                .unwrap_or_else(|text| {
                    r.problem("url", text);
                    None
                })
                .unwrap_or(KnowledgeDatabase::Embedded),
            floor_percent: r
                .key("floor_percent", "Relevance below which a passage is not answered from")
                .unit("per cent")
                .integer(0..=100, FLOOR_PERCENT),
            limit: r.key("limit", "Most documents that are read for an answer").integer(1..=50, LIMIT),
        }
    }
}
