//! `[status]`: the appointment system's database, the tokens of callers, and the wire format.

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

/// The path of the replaced server.
pub const BASE_PATH: &str = "/terminvereinbarung/api/2";
/// The identifier of the replaced server.
const IDENTIFIER: &str = "zms";
/// The time zone of the appointment system.
const TIME_ZONE: &str = "Europe/Berlin";
/// A longer time hides an outage, a shorter one shows gaps.
const MAX_STALE: Duration = Duration::from_secs(300);
/// Time for the scan of a large table on a busy server.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
/// For cheap queries: the interval of probes.
const FAST: Duration = Duration::from_secs(5);
/// For a join over users and locations.
const SESSIONS: Duration = Duration::from_secs(30);
/// For scans: the interval of scrapers.
const SCANS: Duration = Duration::from_secs(60);

/// The form of values in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// Numbers are numbers.
    Typed,
    /// The form of the replaced server: sums are text, empty figures are absent.
    Legacy,
}

/// The appointment system's database.
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

/// The SHA-256 of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHash(pub [u8; 32]);

/// The time to live of each section's figures.
#[derive(Clone, Debug)]
pub struct RefreshSettings {
    /// Figures of the database server.
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
pub struct StatusSettings {
    /// The database of the figures.
    pub database: AppointmentDatabase,
    /// Tokens that admit a caller.
    pub tokens: Vec<TokenHash>,
    /// Prefix of every path.
    pub base_path: String,
    /// The form of values in the payload.
    pub wire: WireFormat,
    /// The reported version of the appointment system.
    pub version: String,
    /// The name in `meta.server`.
    pub identifier: String,
    /// IANA name of the appointment system's time zone.
    pub time_zone: String,
    /// How long figures are served when their collection fails.
    pub max_stale: Duration,
    /// Longest time of a statement.
    pub statement_timeout: Duration,
    /// The time to live of each section's figures.
    pub refresh: RefreshSettings,
}

impl ServiceTable for StatusSettings {
    const NAME: &'static str = "status";

    fn read(reader: &mut Reader, _: &mut Context<'_>) -> Self {
        const WIRES: [(&str, WireFormat); 2] = [("typed", WireFormat::Typed), ("legacy", WireFormat::Legacy)];
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
                .choice(&WIRES, WireFormat::Typed),
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
            refresh: r.table("refresh", RefreshSettings::read),
        })
    }
}

impl RefreshSettings {
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
pub(crate) fn embedded_appointments(config: &Config) -> PathBuf {
    config.data_dir.join("appointments.sqlite")
}

/// Reads tokens or their hashes as hashes.
fn read_tokens(r: &mut Reader) -> Vec<TokenHash> {
    let tokens = r
        .key("tokens", "Tokens that may read the status; sha256:HEX in place of the text is its digest")
        .secrets(1);
    let mut hashes = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        match hash(token.expose()) {
            Some(hash) => hashes.push(hash),
            None => r.problem(&format!("tokens.{index}"), "must have 64 hexadecimal digits after sha256:"),
        }
    }
    hashes
}

/// Returns the hash of a token, which may be configured as `sha256:` and its hash.
fn hash(token: &str) -> Option<TokenHash> {
    let Some(digits) = token.strip_prefix("sha256:") else {
        return Some(TokenHash(Sha256::digest(token).into()));
    };
    let mut hash = [0; 32];
    hex::decode_to_slice(digits, &mut hash).ok().map(|()| TokenHash(hash))
}

/// Checks that a time zone exists.
fn time_zone(text: &str) -> Result<String, String> {
    match TimeZone::get(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("must be a time zone such as Europe/Berlin, not `{text}`")),
    }
}

/// Reads the URL of the database.
fn read_database(r: &mut Reader) -> AppointmentDatabase {
    let written = r
        .key("database", "Where figures come from: sqlite:PATH, or a URL with mysql:// or postgres://")
        .default_text("appointments.sqlite in data_dir")
        .secret();
    match database_url::read(r, "database", written, database_url::parse) {
        Some(DatabaseUrl::Sqlite(path)) => AppointmentDatabase::Sqlite(path),
        Some(DatabaseUrl::MySql(url)) => AppointmentDatabase::MariaDb(url),
        Some(DatabaseUrl::Postgres(url)) => AppointmentDatabase::Postgres(url),
        None => AppointmentDatabase::Embedded,
    }
}
