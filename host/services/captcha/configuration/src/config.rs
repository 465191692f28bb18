//! `[captcha]`: sites, keys, storage and authentication, with their defaults.

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
use bulkhead_pow::PowAlgorithm;
use ipnet::IpNet;

/// Name of the service in `[services.NAME]`.
pub(crate) const SERVICE: &str = "captcha";
/// Default lifetime of a challenge, as in the Java service: time to fill in a long form.
const CAPTCHA_TIMEOUT: Duration = Duration::from_secs(1200);
/// Default window of visits, as in the Java service: a longer one takes more rows.
const SOURCE_ADDRESS_WINDOW: Duration = Duration::from_secs(1800);
/// Default pool size: a small PostgreSQL accepts it from several hosts.
const DATABASE_CONNECTIONS: u32 = 10;
/// Default body limit: several times the largest valid payload.
const BODY_BYTES: usize = 16 << 10;
/// Shortest API key, characters: too long to be guessed.
const API_KEY_CHARS: usize = 32;
/// Shortest site secret that cannot be guessed, characters.
pub const SECRET_CHARS: usize = 16;
/// Shortest secret that signs widget results, characters: too long for an offline attack.
const SIGNATURE_SECRET_CHARS: usize = 32;
/// Default cost, PBKDF2 iterations: barely noticeable in a browser, 0.1 s of a core for an attacker.
const COST: u32 = 5000;
/// Default highest counter: bounds a client's wait at twice the mean; doubling it doubles the wait.
const COUNTER_MAX: u32 = 256;
/// Default uses of a solved challenge.
const MAX_VERIFIES_PER_PAYLOAD: u32 = 1;
/// Most uses of a solved challenge: the ledger keeps one row per use, and invalidating writes them all at once.
const MAX_VERIFIES: i64 = 10_000;
/// Default failures per challenge: legitimate clients fail once or twice, and each failure may cost a key derivation.
const MAX_FAILURES_PER_CHALLENGE: u32 = 10;
/// Default IPv4 prefix of a client: one address, which many share behind NAT.
const SOURCE_ADDRESS_IPV4_NET_SIZE: u8 = 32;
/// Default IPv6 prefix of a client: it usually has a whole /64, whose addresses it can change at will.
const SOURCE_ADDRESS_IPV6_NET_SIZE: u8 = 64;
/// Default IPv6 prefix of compatible sites, as in the Java service.
const COMPAT_IPV6_NET_SIZE: u8 = 128;
/// Default rate limit of the widget endpoints: one call a second suffices for an office behind one address.
const WIDGET_CALLS_PER_MINUTE: u32 = 60;

/// The authentication of the back-end endpoints, on top of the site credentials.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Site credentials only.
    None,
    /// `Authorization: Bearer` with one of these keys.
    ApiKey(Vec<Secret>),
    /// `Authorization: Bearer` with a JWT.
    Jwt(Jwt),
}

/// Where the keys of JWTs come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySetLocation {
    /// Fetched and refreshed.
    Url(String),
    /// Read at start.
    File(PathBuf),
}

/// The checks of a JWT.
#[derive(Clone, Debug)]
pub struct Jwt {
    /// The issuer's key set (JWKS, RFC 7517).
    pub key_set: KeySetLocation,
    /// Required `iss`.
    pub issuer: Option<String>,
    /// Accepted `aud`; empty accepts any.
    pub audiences: Vec<String>,
}

/// The behaviour while the ledger's database does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLedgerFailure {
    /// Calls are refused: no payload is accepted twice.
    Refuse,
    /// Calls continue from memory: each host may accept a payload once, and again after a restart.
    Allow,
}

/// The database of the ledger.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file in the data folder.
    EmbeddedSqlite,
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://...`, which includes the password.
    Postgres(Secret),
}

/// A step of the difficulty ladder: from the `min_visits`th visit inside the window, a challenge costs `cost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderStep {
    /// Visits, the current one included.
    pub min_visits: u32,
    /// Rounds, iterations, N or passes, by algorithm.
    pub cost: u32,
}

/// Automatic difficulty, which aims at a solve time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auto {
    /// Target solve time.
    pub target_solve: Duration,
    /// Least cost.
    pub min_cost: u32,
    /// Greatest cost.
    pub max_cost: u32,
}

/// The ALTCHA protocol of issued challenges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Number search.
    V1,
    /// Key derivation.
    V2,
}

/// The part of the client's address that a challenge is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// None: dual-stack and mobile clients change their address between calls.
    None,
    /// The network by the site's prefix length.
    Network,
    /// The whole address.
    Exact,
}

/// `[captcha.sites.KEY]`.
#[derive(Clone, Debug)]
pub struct Site {
    /// One or two secrets, any of which is accepted (rotation), NFC-normalised.
    pub secrets: Vec<Secret>,
    /// Secrets of widget results: the first one signs, results of any are accepted. When empty, a key derived from the
    /// master key signs.
    pub signature_secrets: Vec<Secret>,
    /// Behave as captchaservice 2.x: raw key, SHA-256, prefix `00`, no `data`, Java's address hash.
    pub compat: bool,
    /// Protocol of issued challenges.
    pub protocol: Protocol,
    /// Accept v1 payloads with every protocol.
    pub accept_v1: bool,
    /// Proof-of-work function of issued challenges.
    pub algorithm: PowAlgorithm,
    /// KiB for Argon2id, block size for scrypt.
    pub memory_cost: Option<u32>,
    /// Lanes for Argon2id and scrypt.
    pub parallelism: Option<u32>,
    /// Choose the counter in advance and sign the key, so that verifying costs two HMACs.
    pub deterministic: bool,
    /// Deterministic mode draws the counter from 1 to this.
    pub counter_max: u32,
    /// Cost by visits, sorted by `min_visits`; the first entry fits the first visit. Empty only with `auto`.
    pub difficulty_map: Vec<LadderStep>,
    /// Cost by load, on top of the ladder.
    pub auto: Option<Auto>,
    /// The part of the address that a challenge is bound to.
    pub binding: Binding,
    /// How often one solved challenge is accepted, 1 or more.
    pub max_verifies_per_payload: u32,
    /// Failed attempts after which a challenge is refused.
    pub max_failures_per_challenge: u32,
    /// IPv4 prefix length of a client's network.
    pub source_address_ipv4_net_size: u8,
    /// IPv6 prefix length of a client's network.
    pub source_address_ipv6_net_size: u8,
    /// Clients whose challenges cost 1, matched on the full address.
    pub whitelisted_source_addresses: Vec<IpNet>,
    /// Clients that get no challenge and whose payloads are refused, matched on the full address; takes precedence over
    /// the list above.
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
    /// Lifetime of a challenge.
    pub captcha_timeout: Duration,
    /// Window over which visits count.
    pub source_address_window: Duration,
    /// The database of the ledger.
    pub database: Database,
    /// Connections to the database.
    pub database_connections: u32,
    /// The behaviour while the database does not answer.
    pub on_ledger_failure: OnLedgerFailure,
    /// The clock of the service; no key sets it.
    pub clock: HostClock,
    /// The authentication of the back-end endpoints.
    pub auth: Auth,
    /// Largest request body, bytes.
    pub body_bytes: usize,
    /// Folder with the widget's files.
    pub widget_dir: Option<PathBuf>,
    /// Sites by key.
    pub sites: BTreeMap<String, Site>,
}
