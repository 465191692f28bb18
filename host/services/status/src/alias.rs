//! Names of the appointment system for keys: `ZMS_*`.

use bulkhead_config::alias::{Aliases, SecretAlias};

/// What the appointment system calls the keys of status.
pub const ALIASES: Aliases = Aliases {
    plain: &[("ZMS_IDENTIFIER", "status.identifier")],
    secrets: &[SecretAlias { variable: "ZMS_CONFIG_SECURE_TOKEN", key: "status.tokens", appends: true }],
    ..Aliases::NONE
};
