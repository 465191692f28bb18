//! Who calls: the holder of a configured key, or else the address of a client.

use std::{
    hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState},
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, PoisonError, RwLock},
};

use bulkhead_inference::engine::{Caller, CallerKind};
use bulkhead_models::{
    InferenceError, TokenBucket,
    config::{EmbeddingKey, EmbeddingSettings},
};
use bulkhead_runtime::api_keys::ApiKeys;

/// Bits of an IPv6 address behind those that name a network.
const HOST_BITS: u32 = 64;

/// The configured callers. Clones share them, and they can be replaced while they are used.
#[derive(Clone)]
pub struct Callers {
    known: Arc<RwLock<Arc<KnownCallers>>>,
    /// Hashes addresses, with keys that no one knows.
    addresses: RandomState,
}

struct KnownCallers {
    holders: Vec<KeyHolder>,
    /// Whether clients without a key may call.
    is_open: bool,
}

/// The holder of a key.
struct KeyHolder {
    /// The one key.
    key: ApiKeys,
    caller: RequestCaller,
}

/// The caller of a request, in the request's extensions.
#[derive(Clone, Debug)]
pub struct RequestCaller {
    /// Its place among callers.
    pub caller: Caller,
    quota: Option<Arc<TokenBucket>>,
}

impl Callers {
    /// Returns the callers of a configuration.
    pub fn new(settings: &EmbeddingSettings) -> Self {
        let known = Arc::new(KnownCallers::new(settings, &[]));
        Self { known: Arc::new(RwLock::new(known)), addresses: RandomState::new() }
    }

    /// Replaces the callers by those of another configuration. A caller whose name and rate stay keeps what it has used.
    pub fn replace(&self, settings: &EmbeddingSettings) {
        let known = Arc::new(KnownCallers::new(settings, &self.known().holders));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Returns whether calls need a key.
    pub fn need_key(&self) -> bool {
        !self.known().is_open
    }

    /// Returns the caller with this bearer, or at this address; `None` if it needs a key and has none. A bearer that is
    /// not configured is not an identity.
    pub fn identify(&self, bearer: Option<&str>, address: Option<IpAddr>) -> Option<RequestCaller> {
        let known = self.known();
        // All keys are compared, so that the time does not depend on which it is.
        let held = bearer.and_then(|token| {
            let holders = known.holders.iter();
            holders.fold(None, |found, holder| if holder.key.holds(token) { Some(holder) } else { found })
        });
        match held {
            Some(holder) => Some(holder.caller.clone()),
            None => known.is_open.then(|| self.anonymous(address)),
        }
    }

    fn anonymous(&self, address: Option<IpAddr>) -> RequestCaller {
        let network = match address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address) >> HOST_BITS << HOST_BITS,
        };
        let id = self.addresses.hash_one(network);
        RequestCaller { caller: Caller { kind: CallerKind::Anonymous, id, weight: 1 }, quota: None }
    }

    fn known(&self) -> Arc<KnownCallers> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KnownCallers {
    fn new(settings: &EmbeddingSettings, before: &[KeyHolder]) -> Self {
        let unnamed = settings.api_keys.iter().map(|key| KeyHolder {
            key: ApiKeys::new([key.expose()]),
            caller: RequestCaller { caller: key_caller("", key.expose(), 1), quota: None },
        });
        let named = settings.keys.iter().map(|key| KeyHolder::named(key, before));
        let holders: Vec<KeyHolder> = unnamed.chain(named).collect();
        let is_open = settings.shares.is_open(holders.is_empty());
        Self { holders, is_open }
    }
}

impl KeyHolder {
    /// Returns the holder of a key with a name. It has the token bucket of the holder `before` with the same name and rate.
    fn named(key: &EmbeddingKey, before: &[Self]) -> Self {
        let caller = key_caller("name", &key.name, key.weight);
        let mut same = before.iter().filter(|holder| holder.caller.caller.id == caller.id);
        let known = same.find_map(|holder| holder.caller.quota.as_ref());
        let quota = key.tokens_per_second.map(|tokens| match known {
            Some(bucket) if bucket.per_second() == tokens => Arc::clone(bucket),
            _ => Arc::new(TokenBucket::new(tokens)),
        });
        Self { key: ApiKeys::new([key.key.expose()]), caller: RequestCaller { caller, quota } }
    }
}

impl RequestCaller {
    /// Takes about so many tokens for a call that begins, unless the caller has used up those of this second.
    ///
    /// # Errors
    /// [`InferenceError::Quota`].
    pub fn reserve(&self, tokens: usize) -> Result<(), InferenceError> {
        let reserved = self.quota.as_ref().map_or(Ok(()), |quota| quota.reserve(tokens));
        reserved.map_err(|retry_after| InferenceError::Quota { retry_after })
    }

    /// Takes the tokens that an ended call has used in place of those that were reserved for it.
    pub fn settle(&self, reserved: usize, used: usize) {
        if let Some(quota) = &self.quota {
            quota.settle(reserved, used);
        }
    }
}

/// Returns the place of a key's holder among callers.
fn key_caller(namespace: &str, name: &str, weight: u32) -> Caller {
    let mut hasher = DefaultHasher::new();
    (namespace, name).hash(&mut hasher);
    Caller { kind: CallerKind::Key, id: hasher.finish(), weight }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use bulkhead_config::secret::Secret;
    use bulkhead_models::config::EmbeddingShares;

    use super::*;

    fn key(name: &str, tokens_per_second: u32) -> EmbeddingKey {
        EmbeddingKey {
            name: name.to_owned(),
            key: Secret::new(format!("key-of-{name}")),
            tokens_per_second: Some(tokens_per_second),
            weight: 3,
        }
    }

    fn callers(api_keys: &[&str], names: &[&str], anonymous: Option<u8>) -> Callers {
        let unnamed = api_keys.iter().map(|key| KeyHolder {
            key: ApiKeys::new([*key]),
            caller: RequestCaller { caller: key_caller("", key, 1), quota: None },
        });
        let named = names.iter().map(|name| KeyHolder::named(&key(name, 100), &[]));
        let holders: Vec<KeyHolder> = unnamed.chain(named).collect();
        let is_open = EmbeddingShares { slots: 25, anonymous }.is_open(holders.is_empty());
        Callers {
            known: Arc::new(RwLock::new(Arc::new(KnownCallers { holders, is_open }))),
            addresses: RandomState::new(),
        }
    }

    fn id(callers: &Callers, bearer: Option<&str>, address: &str) -> Option<(CallerKind, u64)> {
        let found = callers.identify(bearer, Some(address.parse().unwrap()))?;
        Some((found.caller.kind, found.caller.id))
    }

    #[test]
    fn keys_are_callers_of_their_own() {
        let callers = callers(&["one"], &["shop", "search"], None);
        let found =
            ["one", "key-of-shop", "key-of-search"].map(|key| id(&callers, Some(key), "192.0.2.1").unwrap());
        assert!(found.iter().all(|(kind, _)| *kind == CallerKind::Key));
        assert!(found[0] != found[1] && found[1] != found[2]);
        assert_eq!(id(&callers, Some("key-of-shop"), "192.0.2.2"), Some(found[1]), "wherever it is");
        let shop = callers.identify(Some("key-of-shop"), None).unwrap();
        assert_eq!((shop.caller.weight, shop.reserve(500)), (3, Ok(())));
        assert_eq!(shop.reserve(1), Err(InferenceError::Quota { retry_after: 4 }));
        let again = callers.identify(Some("key-of-shop"), None).unwrap();
        assert!(again.reserve(1).is_err(), "the quota is the key's");
        shop.settle(500, 0);
        assert_eq!(again.reserve(1), Ok(()));
    }

    #[test]
    fn reload_keeps_debts_of_unchanged_keys() {
        let before = [KeyHolder::named(&key("shop", 100), &[])];
        assert_eq!(before[0].caller.reserve(500), Ok(()));
        let reserve = |key: &EmbeddingKey| KeyHolder::named(key, &before).caller.reserve(1);
        let renewed = EmbeddingKey { key: Secret::new("another".to_owned()), weight: 1, ..key("shop", 100) };
        for same in [&key("shop", 100), &renewed] {
            assert!(reserve(same).is_err());
        }
        for other in [&key("shop", 200), &key("search", 100)] {
            assert_eq!(reserve(other), Ok(()));
        }
    }

    #[test]
    fn anonymous_callers_need_permission_beside_keys() {
        let cases: [(&[&str], Option<u8>, bool); 4] =
            [(&[], None, true), (&["shop"], None, false), (&["shop"], Some(10), true), (&[], Some(0), false)];
        for (keys, anonymous, is_open) in cases {
            let callers = callers(&[], keys, anonymous);
            assert_eq!(callers.need_key(), !is_open, "{keys:?} {anonymous:?}");
            for bearer in [None, Some("unknown")] {
                assert_eq!(id(&callers, bearer, "192.0.2.1").is_some(), is_open, "{keys:?} {anonymous:?}");
            }
        }
    }

    #[test]
    fn addresses_of_a_network_are_one_caller() {
        let callers = callers(&[], &[], None);
        let at = |address: &str| id(&callers, None, address).unwrap();
        assert_eq!(at("192.0.2.1"), id(&callers, Some("unknown"), "192.0.2.1").unwrap());
        assert!(at("192.0.2.1") != at("192.0.2.2"));
        assert_eq!(at("2001:db8:1:2::1"), at("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert!(at("2001:db8:1:2::1") != at("2001:db8:1:3::1"));
        assert_eq!(at("192.0.2.1").0, CallerKind::Anonymous);
    }
}
