//! `[embedding.keys]` and `[embedding.shares]`: who calls, and what each gets while others wait.

use std::collections::{HashMap, hash_map::Entry};

use bulkhead_config::{reader::Reader, secret::Secret};
use bulkhead_inference::engine::Shares;

/// The most that both shares together may be, so that keys have one, too.
const MOST_SHARES: u8 = 95;

/// A caller with a name and a key.
#[derive(Clone, Debug)]
pub struct EmbeddingKey {
    /// Its name in the configuration.
    pub name: String,
    /// The bearer.
    pub key: Secret,
    /// Tokens that it may have embedded in a second, on average; absent: no limit.
    pub tokens_per_second: Option<u32>,
    /// Its part of what keys get, beside other keys.
    pub weight: u32,
}

/// What kinds of callers get while others wait too, in per cent.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingShares {
    /// At least this for slots.
    pub slots: u8,
    /// At most this for all callers without a key; absent: the default where there are no keys, else they are refused.
    pub anonymous: Option<u8>,
}

impl EmbeddingShares {
    /// Returns whether clients without a key may call: by default where there are no keys.
    pub fn is_open(&self, without_keys: bool) -> bool {
        self.anonymous.map_or(without_keys, |share| share > 0)
    }
}

/// Reads the callers with keys.
pub(super) fn read_keys(r: &mut Reader) -> Vec<EmbeddingKey> {
    let keys = r.named_tables("keys", "NAME", |r, name| {
        let key = r.key("key", "Bearer key of this caller").required().secret();
        let tokens_per_second = r
            .key(
                "tokens_per_second",
                "Most tokens that it may have embedded in a second; more are answered with 429",
            )
            .default_text("no limit")
            .optional_integer(1..=1_000_000_000);
        let weight = r
            .key("weight", "Its part of what keys get while others wait, beside the other keys")
            .integer(1..=1000, 1);
        key.map(|key| EmbeddingKey { name: name.to_owned(), key, tokens_per_second, weight })
    });
    keys.into_iter().filter_map(|(_, key)| key).collect()
}

/// Checks that each key is that of one caller, and one line.
pub(super) fn check_keys(r: &mut Reader, api_keys: &[Secret], keys: &[EmbeddingKey]) {
    let unnamed = api_keys.iter().map(|key| (key.expose().trim(), "embedding.api_keys".to_owned()));
    let mut owners: HashMap<&str, String> = unnamed.collect();
    for EmbeddingKey { name, key, .. } in keys {
        let key = key.expose().trim();
        if key.contains(['\n', '\r']) {
            r.problem(&format!("keys.{name}.key"), "must be one line; give each key a name of its own");
            continue;
        }
        match owners.entry(key) {
            Entry::Occupied(owner) => {
                r.problem(&format!("keys.{name}.key"), format!("must not be the key of {}", owner.get()));
            }
            Entry::Vacant(place) => {
                place.insert(format!("embedding.keys.{name}"));
            }
        }
    }
}

/// Reads the shares.
pub(super) fn read_shares(r: &mut Reader) -> EmbeddingShares {
    let default = Shares::default();
    r.table("shares", |r| {
        let slots = r
            .key("slots", "Least share of slots while others wait too")
            .unit("per cent")
            .integer(1..=90, default.slots);
        let anonymous: Option<u8> = r
            .key(
                "anonymous",
                "Most that callers without a key get together while others wait too; 0 refuses them",
            )
            .unit("per cent")
            .default_text("50; with keys 0")
            .optional_integer(0..=90);
        if slots.saturating_add(anonymous.unwrap_or(default.anonymous)) > MOST_SHARES {
            r.problem(
                "slots",
                format!("must leave a share for keys: slots and anonymous may be {MOST_SHARES} together"),
            );
        }
        EmbeddingShares { slots, anonymous }
    })
}
