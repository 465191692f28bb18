//! `[captcha]`: sites, keys, storage and who may call.

pub mod management;
mod read;
mod site;
mod speed;
#[cfg(test)]
mod tests;
mod work;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use bulkhead_config::secret::Secret;
use bulkhead_os::clock::HostClock;
use bulkhead_pow::Algorithm;
use ipnet::IpNet;

/// Name of the service in `[services.NAME]`.
pub const SERVICE: &str = "captcha";
/// The Java service's: time to fill in a long form.
pub const CAPTCHA_TIMEOUT: Duration = Duration::from_secs(1200);
/// The Java service's: longer remembers more, in more rows.
pub const SOURCE_ADDRESS_WINDOW: Duration = Duration::from_secs(1800);
/// A pool that a small PostgreSQL bears from several hosts.
pub const DATABASE_CONNECTIONS: u32 = 10;
/// Several times the largest honest payload.
pub const BODY_BYTES: usize = 16 << 10;
/// Out of reach of guessing.
pub const API_KEY_CHARS: usize = 32;
/// A site's secret that is shorter can be guessed.
pub const SECRET_CHARS: usize = 16;
/// A secret that signs widget results is out of reach even of someone who tries it on a result at home.
pub const SIGNATURE_SECRET_CHARS: usize = 32;
/// PBKDF2 iterations: a blink in a browser, 0.1 s of a core for an attacker.
pub const COST: u32 = 5000;
/// Bounds a client's wait at twice the mean; doubling it doubles the wait.
pub const COUNTER_MAX: u32 = 256;
/// A solved challenge is good once.
pub const MAX_VERIFIES_PER_PAYLOAD: u32 = 1;
/// The ledger keeps a row a spend, and invalidating writes them all at once.
pub const MOST_VERIFIES: i64 = 10_000;
/// Honest clients fail once or twice; each failure may cost a key derivation.
pub const MAX_FAILURES_PER_CHALLENGE: u32 = 10;
/// An IPv4 client is one address; behind NAT many share it.
pub const SOURCE_ADDRESS_IPV4_NET_SIZE: u8 = 32;
/// One client usually has a whole /64, whose addresses it can change at will.
pub const SOURCE_ADDRESS_IPV6_NET_SIZE: u8 = 64;
/// The Java service's, for sites that behave like it.
pub const COMPAT_IPV6_NET_SIZE: u8 = 128;
/// One a second: enough for an office behind one address.
pub const WIDGET_CALLS_PER_MINUTE: u32 = 60;

/// Who may call the captcha service's back-end endpoints, on top of the site credentials.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Site credentials only.
    None,
    /// `Authorization: Bearer` with one of these keys.
    ApiKey(Vec<Secret>),
    /// `Authorization: Bearer` with a JWT.
    Jwt(Jwt),
}

/// Where a JWT's keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySet {
    /// Fetched and refreshed.
    Url(String),
    /// Read at start.
    File(PathBuf),
}

/// What a JWT must satisfy.
#[derive(Clone, Debug)]
pub struct Jwt {
    /// The issuer's key set (JWKS, RFC 7517).
    pub key_set: KeySet,
    /// Required `iss`.
    pub issuer: Option<String>,
    /// Accepted `aud`; empty accepts any.
    pub audiences: Vec<String>,
}

/// What happens while the ledger's database does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLedgerFailure {
    /// Calls are refused: no payload is accepted twice.
    Refuse,
    /// Calls go on from memory: a payload may be accepted once by each host, and again after a restart.
    Allow,
}

/// Where the ledger lives.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file in the data folder.
    EmbeddedSqlite,
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://...`, with the password in it.
    Postgres(Secret),
}

/// From the `min_visits`th visit inside the window, a challenge costs `cost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderStep {
    /// Visits, the present one included.
    pub min_visits: u32,
    /// Rounds, iterations, N or passes, by algorithm.
    pub cost: u32,
}

/// Aims at a solve time instead of a visit count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auto {
    /// Time that a client should take.
    pub target_solve: Duration,
    /// Least cost.
    pub min_cost: u32,
    /// Greatest cost.
    pub max_cost: u32,
}

/// ALTCHA protocol that a site issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Number search.
    V1,
    /// Key derivation.
    V2,
}

/// To what part of the client's address a challenge is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Not at all: dual-stack and mobile clients change address between calls.
    None,
    /// To its network by the site's mask.
    Network,
    /// To the address itself.
    Exact,
}

/// `[captcha.sites.KEY]`.
#[derive(Clone, Debug)]
pub struct Site {
    /// One or two secrets, any of which is accepted (rotation), NFC-normalised.
    pub secrets: Vec<Secret>,
    /// Sign widget results, the first one; results of any are accepted. Empty: a key derived from the master key signs.
    pub signature_secrets: Vec<Secret>,
    /// Behave as captchaservice 2.x: raw key, SHA-256, prefix `00`, no `data`, Java's address hash.
    pub compat: bool,
    /// What is issued.
    pub protocol: Protocol,
    /// Judge v1 payloads whatever is issued.
    pub accept_v1: bool,
    /// Proof-of-work function of issued challenges.
    pub algorithm: Algorithm,
    /// KiB for Argon2id, block size for scrypt.
    pub memory_cost: Option<u32>,
    /// Lanes for Argon2id and scrypt.
    pub parallelism: Option<u32>,
    /// Pick the counter beforehand and sign the key, so that verifying costs two HMACs.
    pub deterministic: bool,
    /// Deterministic mode draws the counter from 1 to this.
    pub counter_max: u32,
    /// Cost by visits, sorted by `min_visits`; the first entry fits the first visit. Empty only with `auto`.
    pub difficulty_map: Vec<LadderStep>,
    /// Cost by load, on top of the ladder.
    pub auto: Option<Auto>,
    /// To what part of the address a challenge is bound.
    pub binding: Binding,
    /// How often one solved challenge is accepted, 1 or more.
    pub max_verifies_per_payload: u32,
    /// Failed attempts after which a challenge is refused.
    pub max_failures_per_challenge: u32,
    /// IPv4 prefix length that makes a client's network.
    pub source_address_ipv4_net_size: u8,
    /// IPv6 prefix length that makes a client's network.
    pub source_address_ipv6_net_size: u8,
    /// Clients whose challenges cost 1, matched on the full address.
    pub whitelisted_source_addresses: Vec<IpNet>,
    /// Clients that get no challenge and whose payloads are refused, matched on the full address; they win over the
    /// list above.
    pub denied_source_addresses: Vec<IpNet>,
    /// Origins whose pages may use the widget endpoints (`https://www.example.org`), `*` for all.
    pub allowed_origins: Vec<String>,
    /// Widget calls a minute that one client may make.
    pub widget_calls_per_minute: u32,
}

/// `[captcha]`.
#[derive(Clone, Debug)]
pub struct Captcha {
    /// Master key; generated in the data folder when not configured.
    pub hmac_key: Option<Secret>,
    /// Former master keys whose challenges are still accepted.
    pub previous_hmac_keys: Vec<Secret>,
    /// Life of a challenge.
    pub captcha_timeout: Duration,
    /// Window over which visits count.
    pub source_address_window: Duration,
    /// Where the ledger lives.
    pub database: Database,
    /// Connections to the database.
    pub database_connections: u32,
    /// What happens while the database does not answer.
    pub on_ledger_failure: OnLedgerFailure,
    /// What the service tells time by; no key sets it.
    pub clock: HostClock,
    /// Who may call.
    pub auth: Auth,
    /// Largest request body, bytes.
    pub body_bytes: usize,
    /// Folder with the widget's files, which are served.
    pub widget_dir: Option<PathBuf>,
    /// Sites by key.
    pub sites: BTreeMap<String, Site>,
}
