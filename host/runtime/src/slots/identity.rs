//! Version ids, and the revision of the settings that they depend on.

use std::collections::BTreeMap;

use bulkhead_config::slots::{Limits, SlotSettings as Settings};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::compile::ComponentDigest;

/// Hex digits of an identity.
const ID_DIGITS: usize = 16;

/// The id of a version: the first hex digits of a SHA-256 over its component and its settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionId(String);

impl VersionId {
    /// Returns the id of a component under a revision of its slot's settings.
    pub fn new(component: ComponentDigest, revision: &str) -> Self {
        let digest = Sha256::new_with_prefix(component.as_bytes()).chain_update(revision).finalize();
        Self(hex::encode(digest).chars().take(ID_DIGITS).collect())
    }

    /// Returns the id of a host's configuration, given the digests of the keys that are set.
    pub fn of_configuration(set: &BTreeMap<String, [u8; 32]>) -> Self {
        let digest = set.iter().fold(Sha256::new(), |digest, (key, value)| {
            digest.chain_update(key).chain_update([0]).chain_update(value)
        });
        Self(hex::encode(digest.finalize()).chars().take(ID_DIGITS).collect())
    }

    /// Returns the empty id, for audit lines that are about no version.
    pub const fn none() -> Self {
        Self(String::new())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for VersionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the settings that take effect on a slot's component, by their keys below the slot. They contain no secrets.
pub fn effective_settings(settings: &Settings) -> BTreeMap<String, String> {
    let Settings {
        spec: _,
        table: _,
        limits,
        grants,
        models,
        keyvalue,
        reuse,
        config,
        component: _,
        rollout: _,
        signatures: _,
        watch: _,
    } = settings;
    let Limits {
        memory_bytes,
        table_elements,
        cpu_ms,
        deadline,
        max_concurrent,
        shadow_calls: _,
        queue_length,
        queue_wait,
        response_bytes,
        log_bytes_per_second,
        inference_calls,
        inference_tokens_per_second,
    } = limits;
    let known = [
        ("memory_bytes", memory_bytes.to_string()),
        ("table_elements", table_elements.to_string()),
        ("cpu_ms", cpu_ms.to_string()),
        ("deadline_ms", deadline.as_millis().to_string()),
        ("max_concurrent", max_concurrent.to_string()),
        ("queue_length", queue_length.to_string()),
        ("queue_wait_ms", queue_wait.as_millis().to_string()),
        ("response_bytes", response_bytes.to_string()),
        ("log_bytes_per_second", log_bytes_per_second.to_string()),
        ("inference_calls", inference_calls.to_string()),
        ("inference_tokens_per_second", inference_tokens_per_second.to_string()),
        ("grants", grants.join(", ")),
        ("models", models.as_ref().map_or_else(|| "default".to_owned(), |models| models.join(", "))),
        ("reuse", reuse.to_string()),
    ];
    // Named only where it is set, so that versions from before the key keep their ids.
    let stores = Some(("keyvalue", keyvalue.join(", "))).filter(|_| !keyvalue.is_empty());
    let known = known.into_iter().chain(stores).map(|(key, value)| (key.to_owned(), value));
    known.chain(config.iter().map(|(key, value)| (format!("config.{key}"), value.clone()))).collect()
}

/// Returns the revision of a slot's settings: hex digits of a SHA-256 over the settings that take effect on its
/// component.
pub fn revision(settings: &Settings) -> String {
    // The debug output names every key and quotes every value, so that different settings have different texts.
    let text = format!("{:?}", effective_settings(settings));
    hex::encode(Sha256::digest(text)).chars().take(ID_DIGITS).collect()
}
