//! Reads the table `[captcha]`.

use std::collections::BTreeMap;

use bulkhead_config::{
    Origin, database_url, formats,
    reader::Reader,
    tables::{Context, ServiceTable},
};
use bulkhead_ledger::SITE_KEY_BYTES;
use bulkhead_os::clock::HostClock;
use unicode_normalization::UnicodeNormalization;

use super::{
    API_KEY_CHARS, Auth, BODY_BYTES, CAPTCHA_TIMEOUT, Captcha, DATABASE_CONNECTIONS, Database, Jwt,
    KeySetLocation, OnLedgerFailure, SOURCE_ADDRESS_WINDOW, Site,
};
use crate::spring;

const ON_LEDGER_FAILURE: [(&str, OnLedgerFailure); 2] =
    [("refuse", OnLedgerFailure::Refuse), ("allow", OnLedgerFailure::Allow)];

impl ServiceTable for Captcha {
    const NAME: &'static str = "captcha";
    const CHOSEN_NAMES: &'static [&'static str] = &["captcha.sites"];
    const SETTINGS_FILES: &'static [&'static str] = &["captcha.jwt.key_set_file"];

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let spring_security = spring::security(context.environment());
        reader.table(Self::NAME, |r| {
            let captcha = Self {
                hmac_key: r.key("hmac_key", "Master key").default_text("generated").secret(),
                previous_hmac_keys: r
                    .key("previous_hmac_keys", "Former master keys that are still accepted")
                    .secrets(1),
                captcha_timeout: r
                    .key("captcha_timeout_seconds", "Life of a challenge")
                    .seconds(1..=86_400, CAPTCHA_TIMEOUT),
                source_address_window: r
                    .key("source_address_window_seconds", "Window over which visits count")
                    .seconds(1..=2_592_000, SOURCE_ADDRESS_WINDOW),
                database: read_database(r),
                database_connections: r
                    .key("database_connections", "Connections to the database")
                    .integer(1..=1000, DATABASE_CONNECTIONS),
                on_ledger_failure: r
                    .key("on_ledger_failure", "Calls while the database does not answer; allow risks replays")
                    .choice(&ON_LEDGER_FAILURE, OnLedgerFailure::Refuse),
                clock: HostClock::system(),
                auth: read_auth(r, spring_security),
                body_bytes: r
                    .key("body_bytes", "Largest request body")
                    .unit("bytes")
                    .integer(1024..=1 << 20, BODY_BYTES),
                widget_dir: r
                    .key("widget_dir", "Folder with the widget's files, served under widget/files")
                    .path(),
                sites: read_sites(r),
            };
            check_master_key(r, &captcha);
            captcha
        })
    }
}

fn check_master_key(r: &mut Reader, captcha: &Captcha) {
    if captcha.hmac_key.is_some() || r.is_set("hmac_key") {
        return;
    }
    if matches!(captcha.database, Database::Postgres(_)) {
        let text = "hosts that share a PostgreSQL database must share a key; set captcha.hmac_key";
        r.problem("database", text);
    }
    for (key, _) in captcha.sites.iter().filter(|(_, site)| site.compat) {
        let text = "signs with a generated key, which the Java service does not know; set \
                    captcha.hmac_key to its key";
        r.warn(&format!("sites.{key}.compat"), text);
    }
}

fn read_sites(r: &mut Reader) -> BTreeMap<String, Site> {
    let mut sites = BTreeMap::new();
    for (key, site) in r.named_tables("sites", "KEY", |r, _| Site::read(r)) {
        let path = format!("sites.{key}");
        if key.trim().is_empty() {
            r.problem(&path, "a site key must not be empty; name it");
        }
        let key: String = key.nfc().collect();
        if key.len() > SITE_KEY_BYTES || key.chars().any(char::is_control) {
            let text =
                format!("a site key has at most {SITE_KEY_BYTES} bytes and no control characters; rename it");
            r.problem(&path, text);
        }
        if sites.insert(key, site).is_some() {
            r.problem(&path, "clashes with another site key once both are in Unicode NFC; rename one");
        }
    }
    sites
}

fn read_database(r: &mut Reader) -> Database {
    let written = r
        .key("database", "Where the ledger lives: sqlite:PATH or postgres://user:password@host/name")
        .default_text("a file in data_dir")
        .secret();
    let database = database_url::read(r, "database", written, |url| {
        database_url::sqlite_or_postgres(url, Database::Sqlite, Database::Postgres)
    });
    database.unwrap_or(Database::EmbeddedSqlite)
}

#[derive(Clone, Copy, PartialEq)]
enum AuthMode {
    None,
    ApiKey,
    Jwt,
}

fn read_auth(r: &mut Reader, spring_security: Option<&str>) -> Auth {
    const MODES: [(&str, AuthMode); 3] =
        [("none", AuthMode::None), ("api-key", AuthMode::ApiKey), ("jwt", AuthMode::Jwt)];
    let mode = r.key("auth", "Who may call, on top of the site credentials").choice(&MODES, AuthMode::None);
    let keys = r
        .key("api_keys", "Bearer keys for auth = \"api-key\", at least 32 characters each")
        .secrets(API_KEY_CHARS);
    let jwt = r.optional_table("jwt", read_jwt);
    if let Some(variable) = spring_security.filter(|_| !r.is_set("auth")) {
        let text = "the Java service asked for tokens here; set captcha.auth to \"jwt\" with \
                    captcha.jwt.key_set_url to go on with that, or to \"api-key\" or \"none\"";
        r.problem_of(Origin::Environment(variable.to_owned()), "captcha.auth", text);
    }
    for (key, used) in [("api_keys", mode == AuthMode::ApiKey), ("jwt", mode == AuthMode::Jwt)] {
        if !used && r.is_set(key) {
            r.warn(key, "has no effect with this captcha.auth");
        }
    }
    match (mode, jwt) {
        (AuthMode::ApiKey, _) => {
            if keys.is_empty() && !r.is_set("api_keys.0") {
                r.problem("auth", "needs captcha.api_keys with at least one key");
            }
            Auth::ApiKey(keys)
        }
        (AuthMode::Jwt, Some(Some(jwt))) => Auth::Jwt(jwt),
        (AuthMode::Jwt, None) => {
            r.problem("auth", "needs captcha.jwt.key_set_url or captcha.jwt.key_set_file");
            Auth::None
        }
        (AuthMode::Jwt, Some(None)) | (AuthMode::None, _) => Auth::None,
    }
}

fn read_jwt(r: &mut Reader) -> Option<Jwt> {
    let url = r
        .key("key_set_url", "The issuer's key set (JWKS), fetched and refreshed")
        .optional("URL", |text| formats::web_url(text).map(String::from));
    let file = r.key("key_set_file", "The issuer's key set (JWKS), read at start").path();
    let issuer = r.key("issuer", "Required `iss`").text();
    let audiences = r
        .key("audiences", "Accepted `aud`; empty accepts any")
        .list("text", |text| Ok(text.to_owned()))
        .unwrap_or_default();
    let key_set = match (url, file) {
        (Some(url), None) => KeySetLocation::Url(url),
        (None, Some(file)) => KeySetLocation::File(file),
        (Some(_), Some(_)) => {
            r.problem("key_set_file", "cannot be combined with key_set_url; remove one");
            return None;
        }
        (None, None) => {
            if !r.is_set("key_set_url") && !r.is_set("key_set_file") {
                r.problem("key_set_url", "must be given, or key_set_file");
            }
            return None;
        }
    };
    Some(Jwt { key_set, issuer, audiences })
}
