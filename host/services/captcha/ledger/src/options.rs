//! Where the ledger is stored, and its settings.

use super::deadline::ANSWER_TIMEOUT;
use bulkhead_os::{clock::HostClock, damaged_files::DamagedFiles};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How long a challenge may be spent unless the options say otherwise.
const CHALLENGE_LIFE: Duration = Duration::from_mins(20);

/// Where the ledger is stored.
#[derive(Clone)]
pub enum Backend {
    /// A file, created if missing; its folder too.
    Sqlite(PathBuf),
    /// A URL, `postgres://user:password@host:port/database`.
    Postgres(String),
    /// Nowhere, for tests and benches: it holds a million rows at most and forgets them at the end.
    Memory,
}

/// Leaves out the URL, which holds a password.
impl fmt::Debug for Backend {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => out.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => out.write_str("Postgres(..)"),
            Self::Memory => out.write_str("Memory"),
        }
    }
}

/// Settings of the ledger.
#[derive(Clone, Debug)]
pub struct LedgerOptions {
    /// How long a visit counts.
    pub window: Duration,
    /// Most connections to the database; at least one.
    pub connections: u32,
    /// Whether calls are answered from memory while the database does not answer. A challenge that was spent before may
    /// then be spent once more, and what is spent meanwhile is forgotten at the end of the process.
    pub lenient: bool,
    /// The clock.
    pub clock: HostClock,
    /// How long a challenge may be spent. If spends are lost with a damaged file, no challenge that was issued before is
    /// granted.
    pub challenge_life: Duration,
    /// Longest wait of a call for the database. It must be well under the caller's own deadline, or the caller is gone
    /// before it learns that there is no answer; counting a visit may wait twice as long.
    pub answer_timeout: Duration,
    /// Where a damaged file that is set aside is recorded.
    pub damaged_files: DamagedFiles,
}

impl LedgerOptions {
    /// Returns the settings of a ledger that refuses calls while the database does not answer, and uses the system
    /// clock.
    #[must_use]
    pub fn new(window: Duration, connections: u32) -> Self {
        Self {
            window,
            connections,
            lenient: false,
            clock: HostClock::system(),
            challenge_life: CHALLENGE_LIFE,
            answer_timeout: ANSWER_TIMEOUT,
            damaged_files: DamagedFiles::default(),
        }
    }
}
