//! Reads `[slots.NAME.rollout]`: history, automatic rollback and circuit breaker of a slot's versions.

use std::time::Duration;

use crate::reader::Reader;

/// How versions are compared and remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Versions in the history besides the active one and the candidate, with their components.
    pub history: usize,
    /// How long a new version is compared with the previous one; zero means never.
    pub watch: Duration,
    /// It is rolled back when its failures, or its errors, exceed the other's by this share of the calls, percent.
    pub margin_percent: u8,
    /// Calls that must have ended before it is rolled back.
    pub min_calls: u64,
    /// Traps and unusable answers in a row that open the circuit breaker; 0 means never. Calls that end at a limit do
    /// not count.
    pub circuit_failures: u32,
}

impl Rollout {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        // Weeks of releases; each costs its component's size on disk.
        history: 10,
        // Long enough for all kinds of calls to occur, short enough that later failures have other causes.
        watch: Duration::from_secs(300),
        // One client's bad calls are few among all; a broken version's are not.
        margin_percent: 5,
        // Enough that chance does not decide, few enough that a broken version is found soon.
        min_calls: 20,
        // A caller cannot find this many inputs in a row that a sound component traps on.
        circuit_failures: 20,
    };

    pub(super) fn read(reader: &mut Reader) -> Self {
        let default = Self::DEFAULT;
        reader.table("rollout", |r| Self {
            history: r
                .key(
                    "history",
                    "Components in the history besides those that answer, without refused pushes and reloads",
                )
                .integer(1..=1000, default.history),
            watch: r
                .key(
                    "watch_seconds",
                    "How long a new version is compared with the previous one; 0 means never",
                )
                .seconds(0..=86_400, default.watch),
            margin_percent: r
                .key(
                    "margin_percent",
                    "Excess of failures or errors over the previous version at which it is rolled back",
                )
                .unit("percent of calls")
                .integer(1..=100, default.margin_percent),
            min_calls: r
                .key("min_calls", "Calls that must have ended before it is rolled back")
                .integer(1..=1_000_000, default.min_calls),
            circuit_failures: r
                .key(
                    "circuit_failures",
                    "Traps and unusable answers in a row that open the circuit breaker; 0 means never",
                )
                .integer(0..=1_000_000, default.circuit_failures),
        })
    }
}
