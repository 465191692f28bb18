//! Reads `[server]`, `[admin]` and `[log]`.

pub mod tokens;

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::PathBuf,
    time::Duration,
};

use ipnet::IpNet;
use tracing::Level;

use super::reader::{Reader, formats};
use tokens::OperatorToken;

/// Reachable from this machine only, unless the operator decides otherwise.
pub const LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080));
/// Loopback, since operators' endpoints need no credentials there.
const ADMIN_LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9901));
/// Plenty behind a proxy; each takes a file handle and some memory.
const MAX_CONNECTIONS: usize = 1024;
/// Above the 60 s for which nginx keeps upstream connections, so that nginx closes first.
pub const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Long enough for a slow network, short enough to shed clients that dribble headers.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// As for headers, with room for the largest body over a slow network.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Ample for JSON; a body is held in memory.
pub const BODY_BYTES: usize = 1 << 20;
/// As long as orchestrators wait by default before they kill a process.
pub const DRAIN: Duration = Duration::from_secs(30);

/// The log levels by name, the most important first.
pub(super) const LEVELS: [(&str, Level); 5] = [
    ("error", Level::ERROR),
    ("warn", Level::WARN),
    ("info", Level::INFO),
    ("debug", Level::DEBUG),
    ("trace", Level::TRACE),
];

/// A certificate chain and its private key, both PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Certificate chain, leaf first.
    pub cert: PathBuf,
    /// Private key (PKCS#8, PKCS#1 or SEC1).
    pub key: PathBuf,
}

/// Which headers of trusted proxies say who the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedBy {
    /// Whichever is present; contradicting ones are rejected.
    Either,
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
    XForwarded,
}

impl ForwardedBy {
    const WORDS: [(&'static str, Self); 3] =
        [("either", Self::Either), ("forwarded", Self::Forwarded), ("x-forwarded", Self::XForwarded)];
}

/// `[server]`: listeners and HTTP limits.
#[derive(Clone, Debug)]
pub struct Server {
    /// Address of the shared listener.
    pub listen: SocketAddr,
    /// Address of the operators' listener.
    pub admin_listen: SocketAddr,
    /// TLS for the shared listener and the services' own.
    pub tls: Option<Tls>,
    /// Peers whose `Forwarded` and `X-Forwarded-*` headers are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Which of these headers count.
    pub forwarded: ForwardedBy,
    /// Connections open at once over all public listeners; idle ones are closed to make room for further ones.
    pub max_connections: usize,
    /// Connections of one address, of IPv6 one /64, that is neither loopback nor a trusted proxy.
    /// None: half of all.
    pub connections_per_address: Option<usize>,
    /// How long a connection without a request is kept open.
    pub keep_alive: Duration,
    /// A connection must have sent a whole request head within this time.
    pub header_timeout: Duration,
    /// A request body must have arrived within this time.
    pub body_timeout: Duration,
    /// Largest request body, bytes, where a service names no smaller cap.
    pub body_bytes: usize,
    /// How long requests in flight have to end after a signal.
    pub drain: Duration,
    /// Compress answers for clients that accept gzip.
    pub compression: bool,
}

impl Server {
    pub(super) fn read(reader: &mut Reader) -> Self {
        reader.table("server", |r| Self {
            listen: r.key("listen", "Address of the shared listener").parsed(
                "address",
                LISTEN,
                formats::address,
            ),
            admin_listen: r.key("admin_listen", "Address of the operators' listener").parsed(
                "address",
                ADMIN_LISTEN,
                formats::address,
            ),
            tls: Tls::read(r),
            trusted_proxies: r
                .key("trusted_proxies", "Peers whose `Forwarded` and `X-Forwarded-*` are believed")
                .list("addresses or networks", formats::network)
                .unwrap_or_default(),
            forwarded: r
                .key(
                    "forwarded",
                    "Which of these headers count; either: both count, and must agree where both are present",
                )
                .choice(&ForwardedBy::WORDS, ForwardedBy::Either),
            max_connections: r
                .key(
                    "max_connections",
                    "Connections open at once; for further ones the longest idle one is closed",
                )
                .integer(1..=1_000_000, MAX_CONNECTIONS),
            connections_per_address: r
                .key(
                    "connections_per_address",
                    "Those of one address (IPv6: one /64); loopback and trusted_proxies have no such limit",
                )
                .default_text("half of max_connections")
                .optional_integer(1..=1_000_000),
            keep_alive: r
                .key("keep_alive_seconds", "How long a connection without a request stays open")
                .seconds(1..=3600, KEEP_ALIVE),
            header_timeout: r
                .key("header_timeout_seconds", "A request head must have arrived within this time")
                .seconds(1..=3600, HEADER_TIMEOUT),
            body_timeout: r
                .key("body_timeout_seconds", "A request body must have arrived within this time")
                .seconds(1..=3600, BODY_TIMEOUT),
            body_bytes: r
                .key("body_bytes", "Largest request body where a service names no smaller one")
                .unit("bytes")
                .integer(1024..=1 << 30, BODY_BYTES),
            drain: r
                .key("drain_seconds", "How long requests in flight have to end after a signal")
                .seconds(0..=3600, DRAIN),
            compression: r.key("compression", "Compress answers for clients that accept gzip").flag(true),
        })
    }
}

impl Tls {
    fn read(reader: &mut Reader) -> Option<Self> {
        let read = |r: &mut Reader| {
            let cert = r.key("cert", "Certificate chain, leaf first (PEM file)").required().path();
            let key = r.key("key", "Private key (PEM file)").required().path();
            Some(Self { cert: cert?, key: key? })
        };
        reader.optional_table("tls", read).flatten()
    }
}

impl Admin {
    pub(super) fn read(reader: &mut Reader) -> Self {
        reader.table("admin", |r| Self {
            tls: Tls::read(r),
            allow_remote: r
                .key("allow_remote", "Allow an admin address beyond loopback without TLS")
                .flag(false),
            hosts: r
                .key(
                    "hosts",
                    "Names allowed in Host besides localhost and IPs; none: on loopback no other, else all",
                )
                .list("host names", formats::host_name)
                .unwrap_or_default(),
            tokens: tokens::read(r),
        })
    }
}

impl Log {
    pub(super) fn read(reader: &mut Reader) -> Self {
        const FORMATS: [(&str, LogFormat); 2] = [("human", LogFormat::Human), ("json", LogFormat::Json)];
        const ACCESS: [(&str, AccessLog); 3] =
            [("all", AccessLog::All), ("errors", AccessLog::Errors), ("off", AccessLog::Off)];
        reader.table("log", |r| Self {
            format: r
                .key("format", "Readable lines or JSON objects, on standard error")
                .choice(&FORMATS, LogFormat::Human),
            level: r.key("level", "The lowest level that is logged").choice(&LEVELS, Level::INFO),
            access: r
                .key("access", "Which answers have a line; one that took a second always has")
                .choice(&ACCESS, AccessLog::All),
        })
    }
}

/// `[admin]`: the protection of the operators' listener.
#[derive(Clone, Debug)]
pub struct Admin {
    /// TLS for the operators' listener.
    pub tls: Option<Tls>,
    /// Allow an address that is not loopback without TLS.
    pub allow_remote: bool,
    /// Names that requests may have in `Host` besides `localhost` and IP addresses, in lower case. An empty list allows
    /// all names beyond loopback.
    pub hosts: Vec<String>,
    /// Tokens for operating the slots, by a name for the audit log; without one no one may operate them.
    pub tokens: BTreeMap<String, OperatorToken>,
}

/// How log lines are written to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One readable line an event.
    Human,
    /// One JSON object an event.
    Json,
}

/// Which answers have a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLog {
    /// Every answer.
    All,
    /// Answers with a status of 400 or more, and requests whose client went away.
    Errors,
    /// None.
    Off,
}

/// `[log]`.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// Readable or JSON lines.
    pub format: LogFormat,
    /// The lowest level that is logged.
    pub level: Level,
    /// Which answers have a line.
    pub access: AccessLog,
}
