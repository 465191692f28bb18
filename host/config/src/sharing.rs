//! `[sharing]`: how hosts on one PostgreSQL keep to the same versions.

use std::time::Duration;

use super::reader::Reader;

/// A notification is there sooner; this is for those that get lost. One short query each time.
pub const POLL: Duration = Duration::from_secs(3);

/// `[sharing]`.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// Keep what answers in `captcha.database` too, where that is PostgreSQL.
    pub enabled: bool,
    /// How often to look for what other hosts have changed.
    pub poll: Duration,
}

impl Sharing {
    pub(super) fn read(reader: &mut Reader) -> Self {
        reader.table("sharing", |r| Self {
            enabled: r
                .key("enabled", "Hosts on one PostgreSQL (captcha.database) keep to the same versions")
                .flag(true),
            poll: r
                .key("poll_ms", "Look so often for what other hosts have changed, notifications aside")
                .millis(100..=600_000, POLL),
        })
    }
}
