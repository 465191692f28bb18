//! `[slots.NAME.rollout]`: how new versions of a slot's component come to answer, and how they are taken back.

use std::time::Duration;

use super::reader::Reader;

/// How versions are watched and remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Versions remembered beside those that answer, with their components.
    pub history: usize,
    /// A fresh version is compared with the one before for so long; zero never.
    pub watch: Duration,
    /// It goes back when its failures, or its errors, exceed the other's by so many percent of the calls.
    pub margin_percent: u8,
    /// Calls that must have ended before it is judged.
    pub min_calls: u64,
    /// Traps and unusable answers in a row after which calls are kept from a version; 0 never.
    /// Calls that are ended at a limit do not count.
    pub circuit_failures: u32,
}

impl Rollout {
    /// What holds where nothing is said.
    pub const DEFAULT: Self = Self {
        // Weeks of releases; each costs its component's size on disk.
        history: 10,
        // Long enough for all kinds of calls to come by, short enough that later failures have other causes.
        watch: Duration::from_secs(300),
        // One client's bad calls are few among all; a broken version's are not.
        margin_percent: 5,
        // Chance does not decide, and a broken version is soon known.
        min_calls: 20,
        // No caller finds so many inputs in a row that a sound component traps on.
        circuit_failures: 20,
    };

    pub(super) fn read(reader: &mut Reader) -> Self {
        let default = Self::DEFAULT;
        reader.table("rollout", |r| Self {
            history: r
                .key(
                    "history",
                    "Components remembered besides those that answer; not counting refused pushes and reloads",
                )
                .integer(1..=1000, default.history),
            watch: r
                .key("watch_seconds", "A fresh version is compared with the one before for so long; 0 never")
                .seconds(0..=86_400, default.watch),
            margin_percent: r
                .key("margin_percent", "It goes back when it fails or errs on so many more of its calls")
                .unit("percent of calls")
                .integer(1..=100, default.margin_percent),
            min_calls: r
                .key("min_calls", "Calls that must have ended before it is judged")
                .integer(1..=1_000_000, default.min_calls),
            circuit_failures: r
                .key(
                    "circuit_failures",
                    "Traps and unusable answers in a row after which calls are kept from it; 0 never",
                )
                .integer(0..=1_000_000, default.circuit_failures),
        })
    }
}
