//! Names of configuration keys in the replaced embedding server: `MODEL*`, `API_KEY` and the like.

use bulkhead_config::alias::{Aliases, SecretAlias};

/// The replaced server's names of the embedding keys.
pub const ALIASES: Aliases = Aliases {
    plain: &[
        ("MODEL", "embedding.models"),
        ("DEFAULT_MODEL", "embedding.default_model"),
        ("MODEL_ALIAS", "embedding.aliases"),
        ("MODEL_OWNER", "embedding.model_owner"),
        ("MAX_BATCH_SIZE", "embedding.max_batch_size"),
        ("MAX_INPUT_LENGTH", "embedding.max_input_length"),
        ("REQUEST_TIMEOUT_SECONDS", "embedding.request_timeout_seconds"),
    ],
    secrets: &[SecretAlias { variable: "API_KEY", key: "embedding.api_keys", appends: false }],
    ..Aliases::NONE
};
