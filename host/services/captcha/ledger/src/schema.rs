//! Defines the tables. The first two are the Java service's, with names, columns and indexes; the others are ours.
//!
//! On SQLite an id is a BLOB of 16 bytes, a time is an INTEGER of Unix milliseconds and a truth value is 0 or 1. The index of
//! clients has the beginning of each hash and the index of spends has its bytes, half as long as its text: a batch changes
//! most pages of an index, and a smaller one has fewer.

/// A table with an `expires_at` column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    CaptchaRequest,
    InvalidatedPayload,
    Failure,
    SiteVisits,
}

/// Creates on SQLite what holds the time of the latest sweep, Unix milliseconds.
pub(super) const SQLITE_SWEEP: &str = "CREATE TABLE IF NOT EXISTS bulkhead_sweep (
    only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    swept_to INTEGER NOT NULL
);";

impl Table {
    pub(super) const ALL: [Self; 4] =
        [Self::CaptchaRequest, Self::InvalidatedPayload, Self::Failure, Self::SiteVisits];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CaptchaRequest => "captcha_request",
            Self::InvalidatedPayload => "invalidated_payload",
            Self::Failure => "bulkhead_failure",
            Self::SiteVisits => "bulkhead_site_visits",
        }
    }

    /// Reads nothing, and fails when a column is missing.
    pub(super) fn probe(self) -> &'static str {
        match self {
            Self::CaptchaRequest => {
                "SELECT id, request_at, source_address_hash, is_whitelisted, expires_at FROM captcha_request LIMIT 0"
            }
            Self::InvalidatedPayload => {
                "SELECT id, payload_hash, expires_at FROM invalidated_payload LIMIT 0"
            }
            Self::Failure => "SELECT payload_hash, failures, expires_at FROM bulkhead_failure LIMIT 0",
            Self::SiteVisits => "SELECT site, expires_at, visits FROM bulkhead_site_visits LIMIT 0",
        }
    }

    /// Writes nothing, and waits for every lock on the table that a write waits for.
    pub(super) fn touch(self) -> String {
        let name = self.name();
        format!("INSERT INTO {name} (expires_at) SELECT expires_at FROM {name} WHERE false")
    }

    /// Creates the table with its indexes on PostgreSQL. Run only where the table is missing: creating indexes on a
    /// table that exists would take more rights than reading and writing it.
    pub(super) fn postgres(self) -> &'static str {
        match self {
            Self::CaptchaRequest => {
                "CREATE TABLE captcha_request (
                    id uuid NOT NULL CONSTRAINT pk_captcharequest PRIMARY KEY,
                    request_at timestamptz,
                    source_address_hash varchar(64) NOT NULL,
                    is_whitelisted boolean NOT NULL,
                    expires_at timestamptz NOT NULL
                );
                CREATE INDEX idx_captcha_request_source_address_hash
                    ON captcha_request (source_address_hash);
                CREATE INDEX idx_captcha_request_source_address_hash_expires_at
                    ON captcha_request (source_address_hash, expires_at);"
            }
            Self::InvalidatedPayload => {
                "CREATE TABLE invalidated_payload (
                    id uuid NOT NULL CONSTRAINT pk_invalidatedpayload PRIMARY KEY,
                    payload_hash varchar(64) NOT NULL,
                    expires_at timestamptz NOT NULL
                );
                CREATE INDEX idx_invalidated_payload_payload_hash ON invalidated_payload (payload_hash);
                CREATE INDEX idx_invalidated_payload_payload_hash_expires_at
                    ON invalidated_payload (payload_hash, expires_at);"
            }
            Self::Failure => {
                "CREATE TABLE bulkhead_failure (
                    payload_hash varchar(64) NOT NULL PRIMARY KEY,
                    failures bigint NOT NULL,
                    expires_at timestamptz NOT NULL
                );
                CREATE INDEX idx_bulkhead_failure_expires_at ON bulkhead_failure (expires_at);"
            }
            Self::SiteVisits => {
                "CREATE TABLE bulkhead_site_visits (
                    site varchar(255) NOT NULL,
                    expires_at timestamptz NOT NULL,
                    visits bigint NOT NULL,
                    PRIMARY KEY (site, expires_at)
                );"
            }
        }
    }

    /// Creates what is missing on SQLite.
    pub(super) fn sqlite(self) -> &'static str {
        match self {
            Self::CaptchaRequest => {
                "CREATE TABLE IF NOT EXISTS captcha_request (
                    id BLOB NOT NULL CONSTRAINT pk_captcharequest PRIMARY KEY,
                    request_at INTEGER,
                    source_address_hash TEXT NOT NULL,
                    is_whitelisted INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL
                );
                DROP INDEX IF EXISTS idx_captcha_request_source_address_hash_expires_at;
                CREATE INDEX IF NOT EXISTS idx_captcha_request_source_address_expires_at
                    ON captcha_request (substr(source_address_hash, 1, 16), expires_at);"
            }
            Self::InvalidatedPayload => {
                "CREATE TABLE IF NOT EXISTS invalidated_payload (
                    id BLOB NOT NULL CONSTRAINT pk_invalidatedpayload PRIMARY KEY,
                    payload_hash TEXT NOT NULL,
                    expires_at INTEGER NOT NULL
                );
                DROP INDEX IF EXISTS idx_invalidated_payload_payload_hash_expires_at;
                CREATE INDEX IF NOT EXISTS idx_invalidated_payload_hash_bytes_expires_at
                    ON invalidated_payload (unhex(payload_hash), expires_at);"
            }
            Self::Failure => {
                "CREATE TABLE IF NOT EXISTS bulkhead_failure (
                    payload_hash TEXT NOT NULL PRIMARY KEY,
                    failures INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL
                );"
            }
            Self::SiteVisits => {
                "CREATE TABLE IF NOT EXISTS bulkhead_site_visits (
                    site TEXT NOT NULL,
                    expires_at INTEGER NOT NULL,
                    visits INTEGER NOT NULL,
                    PRIMARY KEY (site, expires_at)
                );"
            }
        }
    }
}
