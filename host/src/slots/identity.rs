//! What names a version, and the settings that make it another one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    compile::ComponentDigest,
    config::slots::{Limits, Slot as Settings},
};

/// Hex digits of an identity.
const ID_DIGITS: usize = 16;

/// Names a version: the first hex digits of a SHA-256 over all that it is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VersionId(String);

impl VersionId {
    /// The identity of a component under a revision of its slot's settings.
    pub fn new(component: ComponentDigest, revision: &str) -> Self {
        let digest = Sha256::new_with_prefix(component.as_bytes()).chain_update(revision).finalize();
        Self(hex::encode(digest).chars().take(ID_DIGITS).collect())
    }

    /// The identity of a host's configuration, by the digests of the keys that are set.
    pub fn of_configuration(set: &BTreeMap<String, [u8; 32]>) -> Self {
        let digest = set.iter().fold(Sha256::new(), |digest, (key, value)| {
            digest.chain_update(key).chain_update([0]).chain_update(value)
        });
        Self(hex::encode(digest.finalize()).chars().take(ID_DIGITS).collect())
    }

    /// Of lines that are about no version.
    pub const fn none() -> Self {
        Self(String::new())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for VersionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything that a slot's component is given, by its key below the slot. No secrets: none enters a component.
pub fn given(settings: &Settings) -> BTreeMap<String, String> {
    let Settings {
        spec: _,
        limits,
        grants,
        models,
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
    let known = known.into_iter().map(|(key, value)| (key.to_owned(), value));
    known.chain(config.iter().map(|(key, value)| (format!("config.{key}"), value.clone()))).collect()
}

/// The revision of a slot's settings: hex digits of a SHA-256 over everything that its component is given.
pub fn revision(settings: &Settings) -> String {
    // The debug form names every key and quotes every value, so that no two settings share one.
    let text = format!("{:?}", given(settings));
    hex::encode(Sha256::digest(text)).chars().take(ID_DIGITS).collect()
}
