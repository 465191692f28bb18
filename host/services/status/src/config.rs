//! `[status]`: where the appointment system's database is, who may read its status, and how it is spelt.

#[cfg(test)]
mod tests;

use std::{path::PathBuf, time::Duration};

use bulkhead_config::{
    Config,
    database_url::{self, DatabaseUrl},
    formats,
    reader::Reader,
    secret::Secret,
    tables::{Context, ServiceTable},
};
use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};

/// The replaced server's.
pub const BASE_PATH: &str = "/terminvereinbarung/api/2";
/// The replaced server's.
pub const IDENTIFIER: &str = "zms";
/// The appointment system's home.
pub const TIME_ZONE: &str = "Europe/Berlin";
/// Longer hides an outage, shorter shows gaps.
pub const MAX_STALE: Duration = Duration::from_secs(300);
/// A scan of a large table on a busy server; longer keeps a connection that nobody waits for.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Cheap queries: as often as a probe asks.
pub const FAST: Duration = Duration::from_secs(5);
/// A join over users and places.
pub const SESSIONS: Duration = Duration::from_secs(30);
/// Scans: as often as a scraper asks.
pub const SCANS: Duration = Duration::from_secs(60);

/// How values are spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Numbers are numbers.
    Typed,
    /// As the replaced server does: sums are text, empty figures are absent.
    Legacy,
}

/// Where the appointment system's database is.
#[derive(Clone, Debug)]
pub enum AppointmentDatabase {
    /// A file in the data folder.
    Embedded,
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `mysql://...`, with the password in it.
    MariaDb(Secret),
    /// `postgres://...`, with the password in it.
    Postgres(Secret),
}

/// A token's SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHash(pub [u8; 32]);

/// How long a section's figures are good before they are collected again.
#[derive(Clone, Debug)]
pub struct Refresh {
    /// The server's own figures.
    pub database: Duration,
    /// Appointments.
    pub processes: Duration,
    /// Bookable times.
    pub slots: Duration,
    /// Waiting mails.
    pub mail: Duration,
    /// Times of the last import and calculation.
    pub sources: Duration,
    /// Logged-in users.
    pub sessions: Duration,
}

/// `[status]`.
#[derive(Clone, Debug)]
pub struct Status {
    /// Where figures come from.
    pub database: AppointmentDatabase,
    /// What callers prove themselves with, any of them.
    pub tokens: Vec<TokenHash>,
    /// Put before every path.
    pub base_path: String,
    /// How values are spelt.
    pub wire: Wire,
    /// The deployed version that is reported.
    pub version: String,
    /// Who answers, in `meta.server`.
    pub identifier: String,
    /// IANA name of the appointment system's time zone.
    pub time_zone: String,
    /// How long figures are shown that cannot be collected again.
    pub max_stale: Duration,
    /// Longest time of a statement.
    pub statement_timeout: Duration,
    /// How long each section is good.
    pub refresh: Refresh,
}

impl ServiceTable for Status {
    const NAME: &'static str = "status";

    fn read(reader: &mut Reader, _: &mut Context<'_>) -> Self {
        const WIRES: [(&str, Wire); 2] = [("typed", Wire::Typed), ("legacy", Wire::Legacy)];
        let text = |text: &str| Ok(text.to_owned());
        reader.table(Self::NAME, |r| Self {
            database: read_database(r),
            tokens: read_tokens(r),
            base_path: r.key("base_path", "Put before every path of the service").parsed(
                "path",
                BASE_PATH.to_owned(),
                formats::path_prefix,
            ),
            wire: r
                .key("wire", "How values are spelt; legacy as the replaced server")
                .choice(&WIRES, Wire::Typed),
            version: r.key("version", "Deployed version that is reported").parsed(
                "text",
                env!("CARGO_PKG_VERSION").to_owned(),
                text,
            ),
            identifier: r.key("identifier", "Who answers, in `meta.server`").parsed(
                "text",
                IDENTIFIER.to_owned(),
                text,
            ),
            time_zone: r.key("time_zone", "Time zone of the appointment system").parsed(
                "IANA name",
                TIME_ZONE.to_owned(),
                time_zone,
            ),
            max_stale: r
                .key("max_stale_seconds", "How long figures are shown that cannot be collected again")
                .seconds(1..=86_400, MAX_STALE),
            statement_timeout: r
                .key("statement_timeout_seconds", "Longest time of a statement")
                .seconds(1..=600, STATEMENT_TIMEOUT),
            refresh: r.table("refresh", Refresh::read),
        })
    }
}

impl Refresh {
    fn read(r: &mut Reader) -> Self {
        let mut seconds = |name, doc, default| r.key(name, doc).seconds(1..=86_400, default);
        Self {
            database: seconds("database_seconds", "How long the server's own figures are good", FAST),
            processes: seconds("processes_seconds", "How long figures of appointments are good", SCANS),
            slots: seconds("slots_seconds", "How long figures of bookable times are good", SCANS),
            mail: seconds("mail_seconds", "How long figures of waiting mails are good", FAST),
            sources: seconds("sources_seconds", "How long times of import and calculation are good", FAST),
            sessions: seconds("sessions_seconds", "How long figures of logged-in users are good", SESSIONS),
        }
    }
}

/// Returns the file of the embedded appointment database.
pub fn embedded_appointments(config: &Config) -> PathBuf {
    config.data_dir.join("appointments.sqlite")
}

fn read_tokens(r: &mut Reader) -> Vec<TokenHash> {
    let tokens = r.key("tokens", "Tokens that may read the status: text, file:PATH or sha256:HEX").secrets(1);
    let mut hashes = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        match hash(token.expose()) {
            Some(hash) => hashes.push(hash),
            None => r.problem(&format!("tokens.{index}"), "must have 64 hexadecimal digits after sha256:"),
        }
    }
    hashes
}

/// A token that is configured as its hash, or the hash of one.
fn hash(token: &str) -> Option<TokenHash> {
    let Some(digits) = token.strip_prefix("sha256:") else {
        return Some(TokenHash(Sha256::digest(token).into()));
    };
    let mut hash = [0; 32];
    hex::decode_to_slice(digits, &mut hash).ok().map(|()| TokenHash(hash))
}

fn time_zone(text: &str) -> Result<String, String> {
    match TimeZone::get(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("must be a time zone such as Europe/Berlin, not `{text}`")),
    }
}

fn read_database(r: &mut Reader) -> AppointmentDatabase {
    let written = r
        .key("database", "Where figures come from: sqlite:PATH, or a URL with mysql:// or postgres://")
        .default_text("appointments.sqlite in data_dir")
        .secret();
    let Some(written) = written else {
        return AppointmentDatabase::Embedded;
    };
    if let Some(text) = database_url::warning(written.expose()) {
        r.warn("database", text);
    }
    match database_url::parse(written.expose()) {
        Ok(DatabaseUrl::Sqlite(path)) => AppointmentDatabase::Sqlite(path),
        Ok(DatabaseUrl::MySql(url)) => AppointmentDatabase::MariaDb(url),
        Ok(DatabaseUrl::Postgres(url)) => AppointmentDatabase::Postgres(url),
        Err(text) => {
            r.problem("database", text);
            AppointmentDatabase::Embedded
        }
    }
}
