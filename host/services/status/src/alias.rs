//! Names of configuration keys in the appointment system: `ZMS_*`.

use bulkhead_config::alias::{Aliases, SecretAlias};

/// The appointment system's names of the status keys.
pub const ALIASES: Aliases = Aliases {
    plain: &[("ZMS_IDENTIFIER", "status.identifier")],
    secrets: &[SecretAlias { variable: "ZMS_CONFIG_SECURE_TOKEN", key: "status.tokens", appends: true }],
    ..Aliases::NONE
};
