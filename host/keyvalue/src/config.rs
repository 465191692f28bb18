//! Reads `[keyvalue]`: the database and the stores in it.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use bulkhead_config::{
    database_url,
    reader::Reader,
    secret::Secret,
    tables::{Context, ServiceTable},
};

/// Longest key, bytes.
pub const KEY_BYTES: usize = 1024;
/// Enough for an application of a town, and few enough to list.
const KEYS: u64 = 100_000;
/// What a backup copies in a second or two.
const BYTES: u64 = 64 << 20;
/// A document or a small picture.
const VALUE_BYTES: u64 = 1 << 20;

/// Where stores are kept.
#[derive(Clone, Debug)]
pub enum KeyValueDatabase {
    /// A file of SQLite in the data folder.
    DataFolder,
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A PostgreSQL database, which hosts may share.
    Postgres(Secret),
}

/// What a store may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Most keys.
    pub(crate) keys: u64,
    /// Most bytes of keys and values together.
    pub(crate) bytes: u64,
    /// Most bytes of a value.
    pub(crate) value_bytes: u64,
    /// How long a value stays after it was set; absent: until it is deleted.
    pub(crate) ttl: Option<Duration>,
}

/// `[keyvalue]`.
#[derive(Clone, Debug)]
pub struct KeyValueSettings {
    pub(crate) database: KeyValueDatabase,
    /// The stores by their names.
    pub(crate) stores: BTreeMap<String, StoreSettings>,
}

impl ServiceTable for KeyValueSettings {
    const NAME: &'static str = "keyvalue";
    const CHOSEN_NAMES: &'static [&'static str] = &["keyvalue.stores"];

    fn read(reader: &mut Reader, _: &mut Context<'_>) -> Self {
        reader.table(Self::NAME, |r| {
            let database = read_database(r);
            let stores = r.named_tables("stores", "NAME", |r, _| StoreSettings::read(r));
            for (name, _) in &stores {
                if !is_store_name(name) {
                    let text = "must have 1 to 64 lower-case letters, digits, dashes and underscores";
                    r.problem(&format!("stores.{name}"), text);
                }
            }
            Self { database, stores: stores.into_iter().collect() }
        })
    }
}

impl KeyValueSettings {
    /// Returns whether there is any store.
    pub fn has_stores(&self) -> bool {
        !self.stores.is_empty()
    }

    /// Returns the names of the stores.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.stores.keys().map(String::as_str)
    }
}

impl StoreSettings {
    fn read(r: &mut Reader) -> Self {
        Self {
            keys: r.key("keys", "Most keys of the store").integer(1..=1_000_000_000, KEYS),
            bytes: r
                .key("bytes", "Most bytes of its keys and values together")
                .unit("bytes")
                .integer(1..=1 << 40, BYTES),
            value_bytes: r
                .key("value_bytes", "Most bytes of a value")
                .unit("bytes")
                .integer(1..=64 << 20, VALUE_BYTES),
            ttl: r
                .key("ttl_seconds", "How long a value stays after it was set")
                .unit("seconds")
                .default_text("until it is deleted")
                .optional_integer::<u64>(1..=1_000_000_000)
                .map(Duration::from_secs),
        }
    }
}

fn is_store_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn read_database(r: &mut Reader) -> KeyValueDatabase {
    let written = r
        .key("database", "Where stores are kept: sqlite:PATH or postgres://user:password@host/name")
        .default_text("a file in data_dir")
        .secret();
    let database = database_url::read(r, "database", written, |url| {
        database_url::sqlite_or_postgres(url, KeyValueDatabase::Sqlite, KeyValueDatabase::Postgres)
    });
    database.unwrap_or(KeyValueDatabase::DataFolder)
}
