//! The keys that JWTs are checked with: a JWKS (RFC 7517) from a file, or from a URL with a cache.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use bulkhead_os::clock::HostClock;
use bulkhead_os::files;
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;
use tokio::sync::Mutex;
use tracing::warn;

use super::AuthError;
use crate::config::KeySetLocation;

/// Age from which a fetched key set is refreshed.
const REFRESH_AGE: Duration = Duration::from_secs(5 * 60);

/// Greatest age of a key set in use: calls survive a short outage of the issuer, and a withdrawn key expires.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// Least time between two fetches, seconds.
pub const RETRY_SECONDS: u32 = 10;

/// Timeout of a fetch, connecting included.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest key set, bytes.
const MAX_BYTES: usize = 256 * 1024;

/// A public key and the algorithms that it may check.
pub struct PublicKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    /// The key itself.
    pub key: DecodingKey,
}

impl PublicKey {
    /// Checks whether this key applies to a token with this algorithm and key id.
    pub fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let named = id.is_none() || self.id.as_deref() == id;
        named && self.algorithms.contains(&algorithm)
    }

    fn new(jwk: &Jwk) -> Option<Self> {
        let algorithms = algorithms(jwk);
        if algorithms.is_empty() || !checks_signatures(jwk) {
            return None;
        }
        let key = DecodingKey::from_jwk(jwk).ok()?;
        Some(Self { id: jwk.common.key_id.clone(), algorithms, key })
    }
}

/// Returns the algorithm that a key declares, or those that its type allows. Never a symmetric one: everyone who can
/// read a published secret could sign with it.
fn algorithms(jwk: &Jwk) -> Vec<Algorithm> {
    let allowed: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => AlgorithmFamily::Rsa.algorithms(),
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => &[Algorithm::ES256],
            EllipticCurve::P384 => &[Algorithm::ES384],
            _ => &[],
        },
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
        _ => &[],
    };
    let declared = jwk.common.key_algorithm;
    let declares = |algorithm: &Algorithm| declared.is_none_or(|name| name == (*algorithm).into());
    allowed.iter().copied().filter(declares).collect()
}

/// Checks whether a key is for signatures.
fn checks_signatures(jwk: &Jwk) -> bool {
    let by_use = jwk.common.public_key_use.as_ref();
    let by_operations = jwk.common.key_operations.as_ref();
    by_use.is_none_or(|usage| *usage == PublicKeyUse::Signature)
        && by_operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify))
}

/// Parses a key set; leaves out keys that cannot check signatures.
pub fn parse(json: &[u8]) -> Result<Vec<PublicKey>, AuthError> {
    #[derive(Deserialize)]
    struct KeySet {
        keys: Vec<serde_json::Value>,
    }

    let set: KeySet = serde_json::from_slice(json).map_err(|e| AuthError::KeySet(e.to_string()))?;
    let jwks = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
    let keys: Vec<PublicKey> = jwks.filter_map(|jwk| PublicKey::new(&jwk)).collect();
    match keys.is_empty() {
        true => Err(AuthError::KeySet("it holds no RSA, EC or Ed25519 signature key".into())),
        false => Ok(keys),
    }
}

/// The source of the keys.
pub enum KeySource {
    /// Read once.
    Fixed(Arc<Vec<PublicKey>>),
    /// Fetched when first needed, then refreshed.
    Remote(Box<RemoteKeySet>),
}

impl KeySource {
    /// Returns the source for a configuration; `clock` measures the age of keys.
    pub fn new(location: &KeySetLocation, clock: &HostClock) -> Result<Self, AuthError> {
        match location {
            KeySetLocation::File(path) => {
                let read = files::read_settings(path);
                let json = read.map_err(|source| AuthError::Read { path: path.clone(), source })?;
                Ok(Self::Fixed(Arc::new(parse(&json)?)))
            }
            KeySetLocation::Url(url) => Ok(Self::Remote(Box::new(RemoteKeySet::new(url, clock)?))),
        }
    }

    /// Returns the current keys; `None` when they were never fetched or are too old.
    pub async fn keys(&self) -> Option<Arc<Vec<PublicKey>>> {
        match self {
            Self::Fixed(keys) => Some(keys.clone()),
            Self::Remote(remote) => remote.keys().await,
        }
    }

    /// Refreshes the keys and returns them: for a token whose key is not among them.
    pub async fn refreshed(&self) -> Option<Arc<Vec<PublicKey>>> {
        if let Self::Remote(remote) = self {
            remote.refresh(&mut *remote.last_attempt.lock().await).await;
        }
        self.keys().await
    }
}

/// A key set at a URL, with a cache.
pub struct RemoteKeySet {
    client: reqwest::Client,
    url: String,
    cached: ArcSwapOption<CachedKeys>,
    clock: HostClock,
    /// Time of the last fetch. The holder of the lock fetches.
    last_attempt: Mutex<Option<Instant>>,
}

/// Fetched keys.
struct CachedKeys {
    keys: Arc<Vec<PublicKey>>,
    fetched: Instant,
}

impl RemoteKeySet {
    fn new(url: &str, clock: &HostClock) -> Result<Self, AuthError> {
        let mut client =
            reqwest::Client::builder().timeout(FETCH_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        // A small system has no certificate authorities; without TLS none is needed.
        if url.starts_with("http://") {
            client = client.tls_certs_only([]);
        }
        let client = client.build()?;
        let cached = ArcSwapOption::empty();
        Ok(Self { client, url: url.to_owned(), cached, clock: clock.clone(), last_attempt: Mutex::default() })
    }

    fn age(&self, since: Instant) -> Duration {
        self.clock.instant().saturating_duration_since(since)
    }

    async fn keys(&self) -> Option<Arc<Vec<PublicKey>>> {
        match self.usable() {
            Some(cached) if self.age(cached.fetched) < REFRESH_AGE => return Some(cached.keys.clone()),
            // Only one call waits for the refresh; others use the old keys.
            Some(_) => {
                if let Ok(mut last_attempt) = self.last_attempt.try_lock() {
                    self.refresh(&mut last_attempt).await;
                }
            }
            None => self.refresh(&mut *self.last_attempt.lock().await).await,
        }
        self.usable().map(|cached| cached.keys.clone())
    }

    fn usable(&self) -> Option<Arc<CachedKeys>> {
        self.cached.load_full().filter(|cached| self.age(cached.fetched) < MAX_AGE)
    }

    /// Fetches the keys, unless the last fetch was too recent.
    async fn refresh(&self, last_attempt: &mut Option<Instant>) {
        let min_interval = Duration::from_secs(RETRY_SECONDS.into());
        if last_attempt.is_some_and(|at| self.age(at) < min_interval) {
            return;
        }
        *last_attempt = Some(self.clock.instant());
        match self.fetch().await {
            Ok(keys) => {
                let cached = CachedKeys { keys: Arc::new(keys), fetched: self.clock.instant() };
                self.cached.store(Some(Arc::new(cached)));
            }
            Err(error) => {
                warn!(url = %self.url, %error, "cannot fetch the captcha service's key set")
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<PublicKey>, AuthError> {
        let mut response = self.client.get(&self.url).send().await?.error_for_status()?;
        let mut json = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            json.extend_from_slice(&chunk);
            if json.len() > MAX_BYTES {
                return Err(AuthError::KeySet(format!("it is larger than {MAX_BYTES} bytes")));
            }
        }
        parse(&json)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    fn usable(keys: serde_json::Value) -> usize {
        parse(json!({ "keys": keys }).to_string().as_bytes()).map_or(0, |keys| keys.len())
    }

    fn ed25519(changes: serde_json::Value) -> serde_json::Value {
        let mut key = json!({
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        key.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        key
    }

    #[test]
    fn only_asymmetric_signature_keys_are_used() {
        assert_eq!(usable(json!([ed25519(json!({}))])), 1);
        assert_eq!(usable(json!([ed25519(json!({"alg": "EdDSA", "use": "sig"}))])), 1);
        assert_eq!(usable(json!([ed25519(json!({"key_ops": ["verify"]}))])), 1);
        assert_eq!(usable(json!([ed25519(json!({"use": "enc"}))])), 0);
        assert_eq!(usable(json!([ed25519(json!({"key_ops": ["encrypt"]}))])), 0);
        assert_eq!(usable(json!([ed25519(json!({"alg": "HS256"}))])), 0);
        assert_eq!(usable(json!([ed25519(json!({"alg": "ES512"}))])), 0);
        assert_eq!(usable(json!([{"kty": "oct", "k": "c2VjcmV0"}])), 0);
        assert_eq!(usable(json!([{"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}])), 0);
        assert_eq!(
            usable(json!([{"kty": "OKP", "crv": "X25519", "x": "AA"}, 1, "x", ed25519(json!({}))])),
            1
        );
    }

    #[test]
    fn rsa_keys_check_declared_algorithms() {
        let key = |alg: Option<&str>| {
            let mut key = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "k"});
            if let Some(alg) = alg {
                key["alg"] = alg.into();
            }
            parse(json!({"keys": [key]}).to_string().as_bytes()).unwrap().remove(0)
        };
        assert!(key(Some("RS256")).fits(Algorithm::RS256, Some("k")));
        assert!(key(Some("RS256")).fits(Algorithm::RS256, None));
        assert!(!key(Some("RS256")).fits(Algorithm::RS256, Some("other")));
        assert!(!key(Some("RS256")).fits(Algorithm::PS256, Some("k")));
        assert!(key(None).fits(Algorithm::PS256, Some("k")));
        assert!(!key(None).fits(Algorithm::HS256, Some("k")));
    }

    #[test]
    fn malformed_key_set_is_an_error() {
        for json in ["", "{}", "[]", r#"{"keys":[]}"#, r#"{"keys":{}}"#] {
            assert!(parse(json.as_bytes()).is_err(), "{json}");
        }
        let missing = KeySetLocation::File("/nonexistent/jwks.json".into());
        assert!(matches!(KeySource::new(&missing, &HostClock::system()), Err(AuthError::Read { .. })));
    }
}
