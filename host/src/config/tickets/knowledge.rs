//! `[tickets.knowledge]`: the knowledge base that answers come from.

use std::path::{Path, PathBuf};

use url::Url;

use crate::config::{captcha::Secret, reader::Reader};

/// The base's file in the data folder.
const FILE: &str = "knowledge.sqlite";
/// Relevance in per cent below which nothing is answered: as likely wrong as right.
pub const FLOOR_PERCENT: u8 = 50;
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
    pub(super) fn read(r: &mut Reader) -> Self {
        let written = r
            .key("url", "The knowledge base: sqlite:PATH, or postgres://user:password@host/name")
            .default_text("knowledge.sqlite in data_dir")
            .secret();
        let url = written.map(|written| parse_database(&written)).transpose();
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

/// Error texts never show the URL, which may hold a password.
fn parse_database(written: &Secret) -> Result<KnowledgeDatabase, String> {
    if let Some(path) = written.expose().strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if matches!(path, "" | ":memory:") || path.contains('?') {
            return Err("must be sqlite: and the path of a file".to_owned());
        }
        return Ok(KnowledgeDatabase::Sqlite(PathBuf::from(path)));
    }
    let scheme = Url::parse(written.expose()).ok().map(|url| url.scheme().to_owned());
    match scheme.as_deref() {
        Some("postgres" | "postgresql") => Ok(KnowledgeDatabase::Postgres(written.clone())),
        _ => Err("must be sqlite:PATH or postgres://user:password@host/name".to_owned()),
    }
}
