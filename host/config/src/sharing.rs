//! Reads `[sharing]`: how hosts on one PostgreSQL keep to the same versions.

use std::time::Duration;

use super::reader::Reader;

/// A notification is faster; polling covers lost ones. It costs one short query each time.
pub const POLL: Duration = Duration::from_secs(3);

/// `[sharing]`.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// Share the active versions in the PostgreSQL database that a service offers.
    pub enabled: bool,
    /// How often to look for what other hosts have changed.
    pub poll: Duration,
}

impl Sharing {
    pub(super) fn read(reader: &mut Reader) -> Self {
        reader.table("sharing", |r| Self {
            enabled: r.key("enabled", "Hosts on one PostgreSQL keep to the same versions").flag(true),
            poll: r
                .key("poll_ms", "How often to look for changes of other hosts, in addition to notifications")
                .millis(100..=600_000, POLL),
        })
    }
}
