//! Tests of the configuration of the status service.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::configured::{each_refused, table};

fn read(toml: &str) -> StatusSettings {
    table(toml, &[])
}

/// The SHA-256 of `test`.
const HEX: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

#[test]
fn tokens_are_stored_as_hashes() {
    let text = format!("[status]\ntokens = ['test', 'sha256:{HEX}', 'other']");
    let tokens = read(&text).tokens;
    let mut expected = [0; 32];
    hex::decode_to_slice(HEX, &mut expected).unwrap();
    assert_eq!(tokens.len(), 3);
    assert_eq!(tokens[..2], [TokenHash(expected); 2]);
    assert_ne!(tokens[2], TokenHash(expected));
    let from_variable =
        |toml: &str| -> StatusSettings { table(toml, &[("ZMS_CONFIG_SECURE_TOKEN", "test")]) };
    let tokens = from_variable("").tokens;
    assert_eq!(tokens, [TokenHash(expected)]);
    let both = from_variable("[status]\ntokens = ['other']");
    assert_eq!(both.tokens.len(), 2, "a token in the environment is one more");
}

#[test]
fn database_urls_select_the_database() {
    let database = |url: &str| read(&format!("[status]\ndatabase = '{url}'")).database;
    assert!(matches!(read("").database, AppointmentDatabase::Embedded));
    assert!(matches!(database("sqlite:a.db"), AppointmentDatabase::Sqlite(path) if path.ends_with("a.db")));
    for url in ["mysql://u:p@h/d", "mariadb://u:p@h:3307/d?ssl-mode=REQUIRED"] {
        assert!(matches!(database(url), AppointmentDatabase::MariaDb(_)), "{url}");
    }
    assert!(matches!(database("postgres://u:p@h/d"), AppointmentDatabase::Postgres(_)));
}

#[test]
fn problems_are_reported_without_secrets() {
    each_refused(&[
        ("[status]\ndatabase = 'oracle://u:swordfish@h/d'", "line 2: status.database: must be sqlite:PATH"),
        ("[status]\ndatabase = 'sqlite::memory:'", "status.database: must be sqlite: and the path of a file"),
        ("[status]\ntokens = ['sha256:swordfish']", "status.tokens.0: must have 64 hexadecimal digits"),
        (
            "[status]\ntime_zone = 'Europe/Munich'",
            "status.time_zone: must be a time zone such as Europe/Berlin",
        ),
        ("[status]\nbase_path = '/api/'", "status.base_path: must be empty or like"),
        ("[status]\nwire = 'old'", "status.wire: must be one of typed, legacy"),
        ("[status.refresh]\nmail_seconds = 0", "status.refresh.mail_seconds: must be from 1"),
    ]);
}

#[test]
fn wire_defaults_to_typed() {
    assert_eq!(read("").wire, WireFormat::Typed);
    assert_eq!(read("[status]\nwire = 'legacy'").wire, WireFormat::Legacy);
}
