//! API keys of callers, compared in constant time.

use std::sync::Arc;

use arc_swap::ArcSwap;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

/// API keys of callers. Only their SHA-256 is kept, so that all have the same length and a comparison takes the same
/// time. Clones share one set, which can be replaced while it is used.
#[derive(Clone, Debug, Default)]
pub struct ApiKeys(Arc<ArcSwap<Vec<[u8; 32]>>>);

/// Returns the SHA-256 of a key, which is what is kept of it. Spaces and line ends around it do not count: no header
/// carries them, and files have them.
pub fn token_hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.trim()).into()
}

impl ApiKeys {
    /// Returns a set of keys.
    pub fn new<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        Self::of_hashes(keys.into_iter().map(token_hash))
    }

    /// Returns a set of keys of which only the SHA-256 is known.
    pub fn of_hashes(hashes: impl IntoIterator<Item = [u8; 32]>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(hashes.into_iter().collect())))
    }

    /// Replaces the keys, given by their SHA-256.
    pub fn replace(&self, hashes: impl IntoIterator<Item = [u8; 32]>) {
        self.0.store(Arc::new(hashes.into_iter().collect()));
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.load().is_empty()
    }

    /// Returns whether `token` is one of the keys. Takes the same time whichever it is.
    pub fn holds(&self, token: &str) -> bool {
        let token = token_hash(token);
        self.0.load().iter().fold(Choice::from(0), |found, key| found | key.ct_eq(&token)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_around_keys_do_not_count() {
        let keys = ApiKeys::new(["one \r\n\n", " two"]);
        assert!(keys.holds("one") && keys.holds("two") && !keys.holds("one two"));
    }

    #[test]
    fn replaced_keys_apply_to_clones() {
        let keys = ApiKeys::new(["one"]);
        let clone = keys.clone();
        keys.replace([token_hash("two")]);
        assert!(clone.holds("two") && !clone.holds("one"));
        keys.replace([]);
        assert!(clone.is_empty());
    }
}
